import Bytes
import JSON
import Models
import ServiceKit

/// The limits that `GET /v1/limits` publishes: those of the contract, some of which a deployment may lower, and those
/// of the deployment.
struct ClientLimits: Sendable {
    var textBytes = ContractLimits.textBytes
    var bodyBytes = ContractLimits.bodyBytes
    var batchBytes = ContractLimits.batchBytes
    var batchMessages = ContractLimits.batchMessages
    var membersPerRequest = ContractLimits.membersPerRequest
    /// Enforced by the stores, too.
    var membersPerConversation = ContractLimits.membersPerConversation
    /// Enforced by the stores.
    var conversationsPerUser = ContractLimits.conversationsPerUser
    var replyToAttachments = false
    var profileWriters = ProfileWriters.both
    /// Enforced by the stores.
    var messageRequests = MessageRequests.off
    /// Nil: no account is new.
    var newAccount: NewAccountLimit?
    /// Of the stores: how many days messages stay. Nil: without an end.
    var retentionDays: Int?
    /// Enforced by media.
    var media = MediaLimits()
    /// Enforced by fanout.
    var sessions = SessionLimits()
    /// Where the WebSocket is, if not at this service's origin.
    var socketURL: String?

    init() {}

    init(environment: inout Environment) throws(ConfigurationError) {
        textBytes = try environment.integer("PARLEY_TEXT_BYTES", default: textBytes, in: 1...textBytes)
        bodyBytes = try environment.integer("PARLEY_BODY_BYTES", default: bodyBytes, in: 1024...bodyBytes)
        batchBytes = try environment.integer("PARLEY_BATCH_BYTES", default: batchBytes, in: 1024...batchBytes)
        batchMessages = try environment.integer("PARLEY_BATCH_MESSAGES", default: batchMessages, in: 1...batchMessages)
        membersPerRequest = try environment.integer(
            "PARLEY_MEMBERS_PER_REQUEST", default: membersPerRequest, in: 1...membersPerRequest)
        membersPerConversation = try environment.membersPerConversation()
        conversationsPerUser = try environment.conversationsPerUser()
        replyToAttachments = try environment.replyToAttachments()
        profileWriters = try environment.profileWriters()
        messageRequests = try environment.messageRequests()
        newAccount = try NewAccountLimit(environment: &environment)
        retentionDays = try environment.retention()
        media = try MediaLimits(environment: &environment)
        sessions = try SessionLimits(environment: &environment)
    }

    func write(to buffer: inout ByteBuffer, _ user: UserLimit) {
        buffer.beginObject()
        buffer.append(key: "textBytes", json: textBytes)
        buffer.append(key: "bodyBytes", json: bodyBytes)
        buffer.append(key: "batchBytes", json: batchBytes)
        buffer.append(key: "batchMessages", json: batchMessages)
        buffer.append(key: "membersPerRequest", json: membersPerRequest)
        buffer.append(key: "membersPerConversation", json: membersPerConversation)
        buffer.append(key: "conversationsPerUser", json: conversationsPerUser)
        buffer.append(key: "pinnedConversations", json: ContractLimits.pinnedConversations)
        buffer.append(key: "draftsPerUser", json: ContractLimits.draftsPerUser)
        buffer.append(key: "scheduledPerUser", json: ContractLimits.scheduledPerUser)
        buffer.append(key: "scheduledAheadSeconds", json: ContractLimits.scheduledAhead.components.seconds)
        buffer.append(key: "blockedUsers", json: ContractLimits.blockedUsers)
        buffer.append(key: "devicesPerUser", json: ContractLimits.devicesPerUser)
        buffer.append(key: "waitingRequests", json: ContractLimits.waitingRequests)
        buffer.append(key: "messageRequests", json: messageRequests.name)
        buffer.append(key: "invitationsPerConversation", json: ContractLimits.invitationsPerConversation)
        buffer.append(key: "reportCharacters", json: ContractLimits.reportCharacters)
        buffer.append(key: "openReportsPerReporter", json: ContractLimits.openReportsPerReporter)
        buffer.append(key: "displayNameCharacters", json: ContractLimits.displayNameCharacters)
        buffer.append(key: "avatarUrlBytes", json: ContractLimits.avatarURLBytes)
        buffer.append(key: "profileExtraBytes", json: ContractLimits.profileExtraBytes)
        buffer.append(key: "profilesPerRequest", json: ContractLimits.profilesPerRequest)
        buffer.append(key: "profileWriters", json: profileWriters.name)
        buffer.append(key: "titleCharacters", json: ContractLimits.titleCharacters)
        buffer.append(key: "mentionsPerMessage", json: ContractLimits.mentionsPerMessage)
        buffer.append(key: "pinnedMessages", json: ContractLimits.pinnedMessages)
        buffer.append(key: "pollOptions", json: ContractLimits.pollOptions)
        buffer.append(key: "pollOptionCharacters", json: ContractLimits.pollOptionCharacters)
        buffer.append(key: "messageExtraBytes", json: ContractLimits.messageExtraBytes)
        buffer.append(key: "sealedBytes", json: ContractLimits.sealedBytes)
        buffer.append(key: "attachmentsPerMessage", json: ContractLimits.attachmentsPerMessage)
        buffer.append(key: "replyToAttachments", json: replyToAttachments)
        buffer.append(key: "mediaBytes", json: media.bytes)
        buffer.append(key: "mediaNameBytes", json: ContractLimits.mediaNameBytes)
        buffer.append(key: "megapixels", json: media.megapixels)
        buffer.append(key: "mediaBytesPerDay", json: media.bytesPerDay)
        buffer.append(key: "uploadSeconds", json: ContractLimits.uploadLifetime.components.seconds)
        buffer.append(key: "pageBytes", json: ContractLimits.pageBytes)
        buffer.append(key: "conversationsPerPage", json: ContractLimits.conversationsPerPage)
        buffer.append(key: "membersPerPage", json: ContractLimits.membersPerPage)
        buffer.append(key: "messagesPerPage", json: ContractLimits.messagesPerPage)
        buffer.append(key: "changesPerPage", json: ContractLimits.changesPerPage)
        buffer.append(key: "pagesPerDigest", json: ContractLimits.pagesPerDigest)
        buffer.append(key: "editWindowSeconds", json: ContractLimits.editWindow.components.seconds)
        let lifetime = ContractLimits.messageLifetime
        buffer.append(key: "shortestLifetimeSeconds", json: lifetime.lowerBound.components.seconds)
        buffer.append(key: "longestLifetimeSeconds", json: lifetime.upperBound.components.seconds)
        buffer.append(key: "readingLifetimeMembers", json: ContractLimits.readingLifetimeMembers)
        if let retentionDays { buffer.append(key: "retentionDays", json: retentionDays) }
        buffer.append(key: "frameBytes", json: ContractLimits.frameBytes)
        buffer.append(key: "helloBytes", json: ContractLimits.helloBytes)
        buffer.append(key: "replayChanges", json: ContractLimits.replayChanges)
        buffer.append(key: "sessionsPerUser", json: sessions.sessions)
        buffer.append(key: "framesPerSecond", json: sessions.framesPerSecond)
        buffer.append(key: "frameBurst", json: sessions.frameBurst)
        buffer.append(key: "receiptsPerSecond", json: sessions.receiptsPerSecond)
        buffer.append(key: "costPerSecond", json: user.rate.perSecond)
        buffer.append(key: "costBurst", json: user.rate.burst)
        buffer.append(key: "costInFlight", json: user.costInFlight)
        buffer.append(key: "bytesInFlight", json: user.bytesInFlight)
        if let newAccount {
            buffer.append(key: "newAccount")
            buffer.beginObject()
            buffer.append(key: "seconds", json: newAccount.age.components.seconds)
            buffer.append(key: "peoplePerDay", json: newAccount.peoplePerDay)
            buffer.append(key: "costPerSecond", json: newAccount.rate.perSecond)
            buffer.append(key: "costBurst", json: newAccount.rate.burst)
            buffer.endObject()
        }
        if let socketURL { buffer.append(key: "socketUrl", json: socketURL) }
        buffer.append(key: "costs")
        Call.writeCosts(to: &buffer)
        buffer.endObject()
    }
}

extension NewAccountLimit {
    fileprivate init?(environment: inout Environment) throws(ConfigurationError) {
        age = try environment.duration("PARLEY_NEW_ACCOUNT_AGE", default: .zero)
        peoplePerDay = try environment.integer("PARLEY_NEW_ACCOUNT_PEOPLE_PER_DAY", default: 20, in: 1...60_000)
        rate = TokenBucket.Rate(
            perSecond: try environment.integer("PARLEY_NEW_ACCOUNT_RATE_PER_SECOND", default: 20, in: 1...1_000_000),
            burst: try environment.integer("PARLEY_NEW_ACCOUNT_RATE_BURST", default: 500, in: 1...1_000_000))
        if age == .zero { return nil }
    }
}

extension Environment {
    fileprivate mutating func profileWriters() throws(ConfigurationError) -> ProfileWriters {
        try decode("PARLEY_PROFILE_WRITERS", default: ProfileWriters.both, must: "be users, backend or both") {
            ProfileWriters(named: $0)
        }
    }
}
