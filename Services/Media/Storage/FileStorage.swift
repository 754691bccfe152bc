import CLinux
import Glibc
import Models

/// A call of the operating system that failed.
struct FileError: Error, CustomStringConvertible {
    let operation: StaticString
    let code: CInt

    init(_ operation: StaticString, _ code: CInt = errno) {
        self.operation = operation
        self.code = code
    }

    var description: String { "\(operation): \(String(cString: strerror(code)))" }
    var isFull: Bool { code == ENOSPC || code == EDQUOT }
    var isLocked: Bool { code == EWOULDBLOCK }
}

/// An open file, closed when nobody uses it any more.
final class OpenFile: Sendable {
    let descriptor: CInt

    init(_ path: String, _ flags: CInt) throws(FileError) {
        descriptor = open(path, flags | O_CLOEXEC, 0o600)
        if descriptor < 0 { throw FileError("open") }
    }

    deinit { close(descriptor) }

    func size() throws(FileError) -> Int64 {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { throw FileError("fstat") }
        return Int64(facts.st_size)
    }
}

/// The parts that are kept of a file.
enum ObjectPart: String, CaseIterable, Sendable {
    case content, small, large
}

/// The name of a file: of an upload, or of a part of what is kept.
struct FileName: Equatable, CustomStringConvertible {
    let id: MediaID
    let kept: Kept?

    struct Kept: Equatable {
        let version: Int64
        let part: ObjectPart
    }

    init(_ id: MediaID) { (self.id, kept) = (id, nil) }

    init(_ id: MediaID, _ version: Int64, _ part: ObjectPart) {
        (self.id, kept) = (id, Kept(version: version, part: part))
    }

    /// Nil for the name of something else.
    init?(_ name: String) {
        let fields = name.split(separator: ".", omittingEmptySubsequences: false)
        guard let uuid = Array(fields[0].utf8).withUnsafeBytes({ UUIDBytes(text: $0) }) else { return nil }
        self.init(MediaID(uuid))
        if fields.count == 1 { return }
        guard fields.count == 3, let version = Int64(fields[1]), let part = ObjectPart(rawValue: String(fields[2]))
        else {
            return nil
        }
        self.init(id, version, part)
    }

    var description: String { kept.map { "\(id).\($0.version).\($0.part.rawValue)" } ?? "\(id)" }
}

/// Files in a directory:
///
///     incoming/3f/3f0c…            uploads that are not looked into yet, as far as they have arrived
///     objects/3f/3f0c….17.content  what is kept, in the version that its row names
///
/// What is kept is complete and on the disk before a row names it. Its methods wait for the disk: `FilePool` runs them.
struct FileStorage: Sendable, CustomStringConvertible {
    let root: String

    init(root: String) { self.root = root }

    /// - Parameter url: `file:///` and a path.
    init?(url: String) {
        guard url.hasPrefix("file:///"), url.utf8.count > 8, !url.utf8.contains(0) else { return nil }
        root = String(url.dropFirst(7))
    }

    var description: String { "file://\(root)" }

    private static let folders = ["incoming", "objects"]
    private static let digits = Array("0123456789abcdef")

    /// Creates what is missing of the directories.
    func prepare() throws(FileError) {
        try makeDirectory(root)
        for folder in Self.folders {
            try makeDirectory("\(root)/\(folder)")
        }
        for folder in folders { try makeDirectory(folder) }
        for folder in Self.folders { try sync(directory: "\(root)/\(folder)") }
        try sync(directory: root)
    }

    private func makeDirectory(_ path: String) throws(FileError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw FileError("mkdir") }
    }

    private func sync(directory path: String) throws(FileError) {
        let directory = try OpenFile(path, O_RDONLY | O_DIRECTORY)
        guard fsync(directory.descriptor) == 0 else { throw FileError("fsync") }
    }

    // MARK: Names

    private func folder(_ kind: String, _ id: MediaID) -> String { "\(root)/\(kind)/\(id.description.prefix(2))" }

    func incoming(_ id: MediaID) -> String { "\(folder("incoming", id))/\(FileName(id))" }

    func object(_ id: MediaID, _ version: Int64, _ part: ObjectPart) -> String {
        "\(folder("objects", id))/\(FileName(id, version, part))"
    }

    /// The directories that hold files.
    var folders: [String] {
        Self.folders.flatMap { folder in
            Self.digits.flatMap { high in Self.digits.map { low in "\(root)/\(folder)/\(high)\(low)" } }
        }
    }

    // MARK: Uploads

    /// Opens an upload for writing, by one request at a time: fails with `EWOULDBLOCK` while another has it open, here or
    /// in another process. One that nothing was written of is created.
    func openUpload(_ id: MediaID, from offset: Int64) throws(FileError) -> OpenFile {
        let file = try OpenFile(incoming(id), O_RDWR | (offset == 0 ? O_CREAT : 0))
        guard flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 else { throw FileError("flock") }
        if offset == 0 { try sync(directory: folder("incoming", id)) }
        return file
    }

    static func write(_ pieces: [[UInt8]], to file: OpenFile, at offset: Int64) throws(FileError) {
        var position = offset
        for piece in pieces {
            let result = piece.withUnsafeBytes { bytes in
                Result { () throws(FileError) in try write(bytes, to: file, at: position) }
            }
            try result.get()
            position += Int64(piece.count)
        }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to file: OpenFile, at offset: Int64) throws(FileError) {
        var done = 0
        while done < bytes.count {
            let count = pwrite(
                file.descriptor, bytes.baseAddress! + done, bytes.count - done, off_t(offset) + off_t(done))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw FileError("write") }
            done += count
        }
    }

    static func sync(_ file: OpenFile) throws(FileError) {
        guard fdatasync(file.descriptor) == 0 else { throw FileError("fdatasync") }
    }

    /// The digest of the first bytes of a file.
    static func digest(_ file: OpenFile, count: Int64) throws(FileError) -> [UInt8] {
        let digest = ContentDigest(.sha256), step = 256 << 10
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: step, alignment: 16)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < count {
            let read = pread(file.descriptor, buffer.baseAddress, min(step, Int(count - offset)), off_t(offset))
            if read < 0, errno == EINTR { continue }
            guard read > 0 else { throw FileError("read") }
            digest.update(UnsafeRawBufferPointer(rebasing: buffer[..<read]))
            offset += Int64(read)
        }
        return digest.finish()
    }

    /// The first bytes of a file.
    static func read(_ file: OpenFile, count: Int) throws(FileError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count), done = 0
        while done < count {
            let read = bytes.withUnsafeMutableBytes {
                pread(file.descriptor, $0.baseAddress! + done, count - done, off_t(done))
            }
            if read < 0, errno == EINTR { continue }
            guard read > 0 else { throw FileError("read") }
            done += read
        }
        return bytes
    }

    /// Brings a part of a file into the cache of the operating system. What fails here fails again where it is sent.
    static func load(_ file: OpenFile, at offset: Int64, count: Int) {
        let step = 64 << 10
        withUnsafeTemporaryAllocation(byteCount: step, alignment: 16) { buffer in
            for position in stride(from: 0, to: count, by: step) {
                let count = min(step, count - position)
                _ = pread(file.descriptor, buffer.baseAddress, count, off_t(offset) + off_t(position))
            }
        }
    }

    // MARK: Objects

    /// Keeps an upload, which is complete and on the disk, as the content of an object. The upload stays until
    /// `removeUpload`, so that this can be done again.
    func keepUpload(_ id: MediaID, as version: Int64) throws(FileError) {
        guard link(incoming(id), object(id, version, .content)) == 0 || errno == EEXIST else { throw FileError("link") }
        try syncObjects(id)
    }

    /// Makes sure that new names in the object's directory are on the disk.
    func syncObjects(_ id: MediaID) throws(FileError) { try sync(directory: folder("objects", id)) }

    /// Opens a complete upload for looking into it.
    func openComplete(_ id: MediaID) throws(FileError) -> OpenFile { try OpenFile(incoming(id), O_RDONLY) }

    /// Creates a part of a new version.
    func createObject(_ id: MediaID, _ version: Int64, _ part: ObjectPart) throws(FileError) -> OpenFile {
        try OpenFile(object(id, version, part), O_WRONLY | O_CREAT | O_EXCL)
    }

    func removeUpload(_ id: MediaID) throws(FileError) { try remove(incoming(id)) }

    func removeObject(_ id: MediaID, _ version: Int64) throws(FileError) {
        for part in ObjectPart.allCases { try remove(object(id, version, part)) }
    }

    private func remove(_ path: String) throws(FileError) {
        guard unlink(path) == 0 || errno == ENOENT else { throw FileError("unlink") }
    }
}
