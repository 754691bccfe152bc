import Edge
import Models
import Postgres
import ServiceKit

/// The configuration of media, read from its environment.
struct MediaConfiguration: Sendable {
    let databaseURL: String
    let listen: ListenAddress
    let bus: BusConfiguration
    let tokens: TokenVerifier
    let storage: MediaStorage
    let limits: UploadLimits
    /// The executable that looks into files. Nil: none is looked into, and each is a file of unknown content.
    let inspector: InspectorConfiguration?
    /// Nil: files are not scanned.
    let scanner: VirusScanner?
    let serverLimits: ServerLimits

    init(environment: inout Environment) throws(ConfigurationError) {
        databaseURL = try environment.requiredString("PARLEY_DATABASE_URL")
        listen = try environment.address("PARLEY_LISTEN", default: "0.0.0.0:8084")
        bus = try BusConfiguration(.media, environment: &environment)
        tokens = try TokenVerifier(environment: &environment)
        storage = try environment.mediaStorage()
        limits = try UploadLimits(environment: &environment)
        inspector = try InspectorConfiguration(environment: &environment, limits)
        scanner = try environment.virusScanner()
        serverLimits = try ServerLimits(environment: &environment)
    }

    var writer: ConnectionConfiguration { connection("parley-media-writer", MediaStatements.writing) }
    var reader: ConnectionConfiguration { connection("parley-media-reader", MediaStatements.reading) }

    /// On Citus, of the sessions that hold the locks of shards.
    var owner: ConnectionConfiguration {
        // Who waits for a shard's former owner keeps its heartbeat, and tries again.
        var configuration = connection("parley-media-owner", [])
        configuration.settings = [("lock_timeout", "1s")]
        return configuration
    }

    private func connection(_ name: String, _ statements: [Statement]) -> ConnectionConfiguration {
        ConnectionConfiguration(
            url: databaseURL, applicationName: name,
            settings: [
                ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"), ("statement_timeout", "10s"),
                ("synchronous_commit", "on"),
            ],
            statements: statements)
    }
}

extension Environment {
    fileprivate mutating func virusScanner() throws(ConfigurationError) -> VirusScanner? {
        guard let text = optionalString("PARLEY_MEDIA_CLAMD") else { return nil }
        guard let scanner = VirusScanner(text) else {
            throw ConfigurationError("PARLEY_MEDIA_CLAMD", "must be unix: and the path of a socket, or tcp://host:port")
        }
        return scanner
    }
}

/// What a user may upload and read.
struct UploadLimits: Sendable {
    let media: MediaLimits
    /// Uploads of one user that are not complete.
    let unfinished: Int64
    /// Requests of one user that send or read bytes at a time, and of all users.
    let streamsPerUser: Int
    let streams: Int
    /// Requests of one user.
    let rate: TokenBucket.Rate
    /// The time for which a file stays that no message carries.
    let unsent: Duration
    /// Of complete uploads that are not looked into and kept yet. With more, no new upload begins.
    let backlogBytes: Int64

    var fileBytes: Int64 { Int64(media.bytes) }
    var bytesPerDay: Int64 { Int64(media.bytesPerDay) }

    init(environment: inout Environment) throws(ConfigurationError) {
        media = try MediaLimits(environment: &environment)
        unfinished = Int64(try environment.integer("PARLEY_MEDIA_UNFINISHED", default: 100, in: 1...100_000))
        streamsPerUser = try environment.integer("PARLEY_MEDIA_STREAMS_PER_USER", default: 32, in: 1...100_000)
        streams = try environment.integer("PARLEY_MEDIA_STREAMS", default: 512, in: 1...100_000)
        // A page of pictures is some hundred requests, most of them of thumbnails.
        rate = TokenBucket.Rate(
            perSecond: try environment.integer("PARLEY_MEDIA_RATE_PER_SECOND", default: 1_000, in: 1...1_000_000),
            burst: try environment.integer("PARLEY_MEDIA_RATE_BURST", default: 3_000, in: 1...1_000_000))
        backlogBytes = Int64(
            try environment.integer("PARLEY_MEDIA_BACKLOG", default: 10_000_000_000, in: 1...(1 << 50)))
        unsent = try environment.duration("PARLEY_MEDIA_UNSENT", default: .seconds(7 * 24 * 3600))
    }
}
