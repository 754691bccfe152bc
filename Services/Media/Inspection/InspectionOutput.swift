import Models
import Reactor

/// What an inspector makes of one file, on its way to the disk.
@Reactor
final class InspectionOutput {
    private static let thumbnailBytes: Int64 = 4 << 20

    private let id: MediaID
    private let version: Int64
    private let objects: any ObjectStorage
    private let pool: FilePool
    /// For keeping what was written.
    private let objectPool: FilePool
    private let contentBytes: Int64
    private var frames = InspectionFrames()
    private var files: [ObjectPart: (file: OpenFile, count: Int64)] = [:]
    private var digest: ContentDigest?
    private(set) var facts: InspectedFacts?
    private(set) var isComplete = false
    /// Of the content, if the upload itself is not kept.
    private(set) var sha256: String?

    init(
        _ id: MediaID, _ version: Int64, _ objects: any ObjectStorage, _ pool: FilePool, objectPool: FilePool,
        contentBytes: Int64
    ) {
        self.id = id
        self.version = version
        self.objects = objects
        self.pool = pool
        self.objectPool = objectPool
        self.contentBytes = contentBytes
    }

    var parts: Set<ObjectPart> { Set(files.keys) }
    var contentSize: Int64? { files[.content]?.count }

    /// - Returns: why the file is refused; nil when it goes on.
    func take(_ bytes: [UInt8]) async throws(FileError) -> String? {
        var input = bytes[...]
        while true {
            switch frames.next(&input) {
            case .needsMore: return nil
            case .malformed: return "unreadable"
            case .end:
                isComplete = true
                return nil
            case .facts(let json):
                facts = InspectedFacts(json)
                if facts == nil { return "unreadable" }
            case .piece(let part, let bytes):
                guard try await write(bytes, to: part) else { return "tooLarge" }
            }
        }
    }

    private func write(_ bytes: [UInt8], to part: ObjectPart) async throws(FileError) -> Bool {
        let (file, count) = try await file(of: part)
        let limit = part == .content ? contentBytes : Self.thumbnailBytes
        guard count + Int64(bytes.count) <= limit else { return false }
        let digest = part == .content ? digest : nil
        try await pool.run {
            Result { () throws(FileError) in
                try FileStorage.write([bytes], to: file, at: count)
                bytes.withUnsafeBytes { digest?.update($0) }
            }
        }.get()
        files[part] = (file, count + Int64(bytes.count))
        return true
    }

    private func file(of part: ObjectPart) async throws(FileError) -> (file: OpenFile, count: Int64) {
        if let known = files[part] { return known }
        let objects = objects, id = id, version = version
        let file = try await pool.run {
            Result { () throws(FileError) in try objects.createObject(id, version, part) }
        }.get()
        if part == .content { digest = ContentDigest(.sha256) }
        files[part] = (file, 0)
        return (file, 0)
    }

    /// Keeps what there is.
    func finish() async throws(FileError) {
        guard !files.isEmpty else { return }
        let objects = objects, id = id, version = version, files = files.mapValues(\.file), digest = digest
        sha256 = try await objectPool.run {
            Result { () throws(FileError) -> String? in
                try objects.keepObject(id, version, files)
                return digest.map { ContentDigest.hex($0.finish()) }
            }
        }.get()
    }

    func discard() async throws(FileError) {
        guard !files.isEmpty else { return }
        let objects = objects, id = id, version = version
        try await objectPool.run { Result { () throws(FileError) in try objects.removeObject(id, version) } }.get()
    }
}
