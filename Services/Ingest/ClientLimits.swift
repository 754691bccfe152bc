import Bytes
import JSON
import ServiceKit

/// The limits that clients are told by `GET /v1/limits`. A deployment may lower those of ingest; the others are the
/// store's and fanout's, and stand here because this is where clients ask.
struct ClientLimits: Sendable {
    var textBytes = 16 * 1024
    var bodyBytes = 128 * 1024
    var batchBytes = 4 * 1024 * 1024
    var batchMessages = 500
    var membersPerRequest = 1000
    var titleCharacters = 200
    var mentionsPerMessage = 100
    var conversationsPerUser = 20_000
    /// Enforced by fanout.
    var sessions = SessionLimits()

    static let membersPerConversation = 10_000
    static let pageBytes = 512 * 1024
    static let conversationsPerPage: Int64 = 200
    static let membersPerPage: Int64 = 1000
    static let messagesPerPage: Int64 = 200
    static let changesPerPage: Int64 = 1000
    static let pagesPerDigest: Int64 = 20
    static let resultsPerPage: Int64 = 100
    static let editWindowSeconds = 15 * 60
    static let frameBytes = 64 * 1024
    static let helloBytes = 1024 * 1024
    static let replayChanges = 1000

    init() {}

    init(environment: inout Environment) throws(ConfigurationError) {
        textBytes = try environment.integer("PARLEY_TEXT_BYTES", default: textBytes, in: 1...textBytes)
        bodyBytes = try environment.integer("PARLEY_BODY_BYTES", default: bodyBytes, in: 1024...bodyBytes)
        batchBytes = try environment.integer("PARLEY_BATCH_BYTES", default: batchBytes, in: 1024...batchBytes)
        batchMessages = try environment.integer("PARLEY_BATCH_MESSAGES", default: batchMessages, in: 1...batchMessages)
        membersPerRequest = try environment.integer(
            "PARLEY_MEMBERS_PER_REQUEST", default: membersPerRequest, in: 1...membersPerRequest)
        conversationsPerUser = try environment.conversationsPerUser()
        sessions = try SessionLimits(environment: &environment)
    }

    func write(to buffer: inout ByteBuffer, _ user: UserLimit) {
        buffer.beginObject()
        buffer.append(key: "textBytes", json: textBytes)
        buffer.append(key: "bodyBytes", json: bodyBytes)
        buffer.append(key: "batchBytes", json: batchBytes)
        buffer.append(key: "batchMessages", json: batchMessages)
        buffer.append(key: "membersPerRequest", json: membersPerRequest)
        buffer.append(key: "membersPerConversation", json: Self.membersPerConversation)
        buffer.append(key: "conversationsPerUser", json: conversationsPerUser)
        buffer.append(key: "titleCharacters", json: titleCharacters)
        buffer.append(key: "mentionsPerMessage", json: mentionsPerMessage)
        buffer.append(key: "pageBytes", json: Self.pageBytes)
        buffer.append(key: "conversationsPerPage", json: Self.conversationsPerPage)
        buffer.append(key: "membersPerPage", json: Self.membersPerPage)
        buffer.append(key: "messagesPerPage", json: Self.messagesPerPage)
        buffer.append(key: "changesPerPage", json: Self.changesPerPage)
        buffer.append(key: "pagesPerDigest", json: Self.pagesPerDigest)
        buffer.append(key: "editWindowSeconds", json: Self.editWindowSeconds)
        buffer.append(key: "frameBytes", json: Self.frameBytes)
        buffer.append(key: "helloBytes", json: Self.helloBytes)
        buffer.append(key: "replayChanges", json: Self.replayChanges)
        buffer.append(key: "sessionsPerUser", json: sessions.sessions)
        buffer.append(key: "framesPerSecond", json: sessions.framesPerSecond)
        buffer.append(key: "frameBurst", json: sessions.frameBurst)
        buffer.append(key: "receiptsPerSecond", json: sessions.receiptsPerSecond)
        buffer.append(key: "costPerSecond", json: user.rate.perSecond)
        buffer.append(key: "costBurst", json: user.rate.burst)
        buffer.append(key: "costInFlight", json: user.costInFlight)
        buffer.append(key: "bytesInFlight", json: user.bytesInFlight)
        buffer.append(key: "costs")
        Call.writeCosts(to: &buffer)
        buffer.endObject()
    }
}
