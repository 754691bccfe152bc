import Glibc
import ServiceKit

/// Where files are: uploads on this machine, and what is kept of them there as well or in an object store.
struct MediaStorage: Sendable, CustomStringConvertible {
    /// Uploads, and what is on its way to an object store.
    let uploads: FileStorage
    let objects: any ObjectStorage
    /// The threads that wait for an object store.
    let connections: Int

    init(_ files: FileStorage) {
        uploads = files
        objects = files
        connections = 0
    }

    init(_ settings: S3Settings, spool: FileStorage, connections: Int) {
        uploads = spool
        objects = S3Storage(client: S3Client(settings), spool: spool)
        self.connections = connections
    }

    var store: S3Storage? { objects as? S3Storage }
    var description: String { objects.description }

    func prepare() throws(FileError) { try uploads.prepare(isSpool: objects.isRemote) }
}

/// What the variables say of the storages that there may be.
struct StorageSettings {
    private let url: String
    private let spool: FileStorage
    private let endpoint: String?
    private let region: String
    private let key: S3Key?
    private let authorities: String?
    private let partBytes: Int64
    private let connections: Int

    init(environment: inout Environment) throws(ConfigurationError) {
        url = environment.string("PARLEY_MEDIA_STORAGE", default: "file:///var/lib/parley/media")
        spool = try environment.decode(
            "PARLEY_MEDIA_SPOOL", default: FileStorage(root: "/var/lib/parley/media"),
            must: "be file:// followed by the absolute path of a directory", FileStorage.init(url:))
        endpoint = environment.optionalString("PARLEY_MEDIA_S3_ENDPOINT")
        guard endpoint.map(Self.isEndpoint) ?? true else {
            throw ConfigurationError("PARLEY_MEDIA_S3_ENDPOINT", "must be https:// or http://, a name and maybe a port")
        }
        region = try environment.decode(
            "PARLEY_MEDIA_S3_REGION", default: "us-east-1", must: "be the name of a region", Self.region)
        key = try Self.key(&environment)
        authorities = environment.optionalString("PARLEY_MEDIA_S3_CA_FILE")
        partBytes = Int64(try environment.integer("PARLEY_MEDIA_S3_PART_MEGABYTES", default: 16, in: 5...5_000)) << 20
        connections = try environment.integer("PARLEY_MEDIA_S3_CONNECTIONS", default: 16, in: 1...256)
    }

    private static func key(_ environment: inout Environment) throws(ConfigurationError) -> S3Key? {
        guard let text = try environment.file("PARLEY_MEDIA_S3_KEY_FILE") else { return nil }
        guard let key = S3Key(text) else {
            throw ConfigurationError(
                "PARLEY_MEDIA_S3_KEY_FILE", "must name a file of two lines: the id of an access key, and its secret")
        }
        return key
    }

    private static func isEndpoint(_ text: String) -> Bool {
        let rest = text.hasPrefix("https://") ? text.dropFirst(8) : text.hasPrefix("http://") ? text.dropFirst(7) : ""
        return !rest.isEmpty
            && rest.utf8.allSatisfy {
                // Letters, digits, what is between them, and the brackets around an address of IPv6.
                (0x2D...0x2E).contains($0) || (0x30...0x3A).contains($0) || (0x61...0x7A).contains($0 | 0x20)
                    || $0 == 0x5B || $0 == 0x5D
            }
    }

    private static func region(_ text: String) -> String? {
        text.utf8.allSatisfy { $0 == 0x2D || (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) } ? text : nil
    }

    /// The storage that is configured.
    func storage() throws(ConfigurationError) -> MediaStorage { try storage(at: url, named: "PARLEY_MEDIA_STORAGE") }

    /// - Parameter name: of the variable or argument that the address is from.
    func storage(at url: String, named name: String) throws(ConfigurationError) -> MediaStorage {
        if let files = FileStorage(url: url) { return MediaStorage(files) }
        guard let address = S3Address(url: url) else {
            throw ConfigurationError(
                name, "must be file:// followed by the absolute path of a directory, or s3://bucket, s3://bucket/prefix"
            )
        }
        guard let endpoint else { throw ConfigurationError("PARLEY_MEDIA_S3_ENDPOINT", "must be set with s3://") }
        guard let key else { throw ConfigurationError("PARLEY_MEDIA_S3_KEY_FILE", "must be set with s3://") }
        let settings = S3Settings(
            endpoint: endpoint, bucket: address.bucket, prefix: address.prefix, region: region, key: key,
            authorities: authorities, partBytes: partBytes)
        return MediaStorage(settings, spool: spool, connections: connections)
    }
}

extension Environment {
    /// Where files are kept.
    mutating func mediaStorage() throws(ConfigurationError) -> MediaStorage {
        try StorageSettings(environment: &self).storage()
    }
}
