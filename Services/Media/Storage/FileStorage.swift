import CLinux
import Glibc
import Models

/// An open file, closed when nobody uses it any more.
final class OpenFile: Sendable {
    let descriptor: CInt

    init(_ path: String, _ flags: CInt) throws(FileError) {
        descriptor = open(path, flags | O_CLOEXEC, 0o600)
        if descriptor < 0 { throw FileError("open") }
    }

    /// - Parameter descriptor: which is this object's from now on.
    init(descriptor: CInt) { self.descriptor = descriptor }

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

    /// `3f/3f0c….17.content`
    var path: String { "\(id.description.prefix(2))/\(self)" }
}

/// Files in a directory:
///
///     incoming/3f/3f0c…            uploads that are not looked into yet, as far as they have arrived
///     objects/3f/3f0c….17.content  what is kept, in the version that its row names
///     staging/3f0c….17.content     instead: what is on its way to an object store
///
/// What is kept is complete and on the disk before a row names it. Its methods wait for the disk: `FilePool` runs them.
struct FileStorage: ObjectStorage {
    let root: String

    init(root: String) { self.root = root }

    /// - Parameter url: `file:///` and a path.
    init?(url: String) {
        guard url.hasPrefix("file:///"), url.utf8.count > 8, !url.utf8.contains(0) else { return nil }
        root = String(url.dropFirst(7))
    }

    var description: String { "file://\(root)" }

    var isRemote: Bool { false }

    /// Creates what is missing of the directories.
    /// - Parameter isSpool: whether objects are elsewhere.
    func prepare(isSpool: Bool) throws(FileError) {
        try makeDirectory(root)
        for kind in isSpool ? ["incoming"] : ["incoming", "objects"] {
            try makeDirectory("\(root)/\(kind)")
            for folder in objectFolders { try makeDirectory("\(root)/\(kind)/\(folder)") }
            try sync(directory: "\(root)/\(kind)")
        }
        if isSpool { try makeDirectory("\(root)/staging") }
        try sync(directory: root)
    }

    func check() throws(FileError) { _ = try OpenFile("\(root)/objects", O_RDONLY | O_DIRECTORY) }

    private func makeDirectory(_ path: String) throws(FileError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw FileError("mkdir") }
    }

    private func sync(directory path: String) throws(FileError) {
        let directory = try OpenFile(path, O_RDONLY | O_DIRECTORY)
        guard fsync(directory.descriptor) == 0 else { throw FileError("fsync") }
    }

    // MARK: Names

    private func folder(_ kind: String, _ id: MediaID) -> String { "\(root)/\(kind)/\(id.description.prefix(2))" }

    func incoming(_ id: MediaID) -> String { "\(root)/incoming/\(FileName(id).path)" }

    func object(_ id: MediaID, _ version: Int64, _ part: ObjectPart) -> String {
        "\(root)/objects/\(FileName(id, version, part).path)"
    }

    func staged(_ name: FileName) -> String { "\(root)/staging/\(name)" }

    // MARK: Uploads

    /// Opens an upload for writing, by one request at a time: fails with `EWOULDBLOCK` while another has it open, here or
    /// in another process. One that nothing was written of is created.
    func openUpload(_ id: MediaID, from offset: Int64) throws(FileError) -> OpenFile {
        let file = try open(incoming(id), in: folder("incoming", id), O_RDWR | (offset == 0 ? O_CREAT : 0))
        guard flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 else { throw FileError("flock") }
        if offset == 0 { try sync(directory: folder("incoming", id)) }
        return file
    }

    /// Opens a file whose directory must be there: without it the disk is away, and nothing is known of the file.
    private func open(_ path: String, in folder: String, _ flags: CInt) throws(FileError) -> OpenFile {
        do throws(FileError) {
            return try OpenFile(path, flags)
        } catch {
            guard error.isMissing, access(folder, F_OK) != 0 else { throw error }
            throw FileError("open", EIO)
        }
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

    static func write(_ bytes: UnsafeRawBufferPointer, to file: OpenFile, at offset: Int64) throws(FileError) {
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
        let digest = ContentDigest(.sha256)
        try forEachPiece(of: file, 0, count) { digest.update($0) }
        return digest.finish()
    }

    /// Reads a part of a file, some of it at a time.
    static func forEachPiece(
        of file: OpenFile, _ start: Int64, _ count: Int64, _ body: (UnsafeRawBufferPointer) throws(FileError) -> Void
    ) throws(FileError) {
        let step = 256 << 10
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: step, alignment: 16)
        defer { buffer.deallocate() }
        var done: Int64 = 0
        while done < count {
            let read = pread(file.descriptor, buffer.baseAddress, min(step, Int(count - done)), off_t(start + done))
            if read < 0, errno == EINTR { continue }
            guard read > 0 else { throw FileError("read") }
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<read]))
            done += Int64(read)
        }
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

    func keepUpload(_ id: MediaID, as version: Int64) throws(FileError) {
        guard link(incoming(id), object(id, version, .content)) == 0 || errno == EEXIST else { throw FileError("link") }
        try syncObjects(id)
    }

    /// Makes sure that new names in the object's directory are on the disk.
    private func syncObjects(_ id: MediaID) throws(FileError) { try sync(directory: folder("objects", id)) }

    /// Opens a complete upload for looking into it.
    func openComplete(_ id: MediaID) throws(FileError) -> OpenFile {
        try open(incoming(id), in: folder("incoming", id), O_RDONLY)
    }

    func createObject(_ id: MediaID, _ version: Int64, _ part: ObjectPart) throws(FileError) -> OpenFile {
        try OpenFile(object(id, version, part), O_WRONLY | O_CREAT | O_EXCL)
    }

    func keepObject(_ id: MediaID, _ version: Int64, _ parts: [ObjectPart: OpenFile]) throws(FileError) {
        for file in parts.values { try Self.sync(file) }
        try syncObjects(id)
    }

    /// The copy has the same bytes on the disk, by another name.
    func copy(_ kept: KeptObject, to id: MediaID) throws(FileError) {
        for part in kept.parts {
            let path = object(kept.id, kept.version, part)
            let file = try open(path, in: folder("objects", kept.id), O_RDONLY)
            if link(path, object(id, kept.version, part)) == 0 || errno == EEXIST { continue }
            // A file has so many names at most, and a folder may be a disk of its own.
            guard errno == EMLINK || errno == EXDEV else { throw FileError("link") }
            try put(FileName(id, kept.version, part), file)
        }
        try syncObjects(id)
    }

    func put(_ name: FileName, _ file: OpenFile) throws(FileError) {
        guard let kept = name.kept else { preconditionFailure("an upload is no object") }
        // A name that no row has, so that `media collect` finds what is left of it.
        let path = object(name.id, kept.version, kept.part), part = path + ".part"
        try remove(part)
        let copy = try OpenFile(part, O_WRONLY | O_CREAT | O_EXCL)
        try Self.append(file, to: copy, at: 0, count: try file.size())
        try Self.sync(copy)
        guard rename(part, path) == 0 else { throw FileError("rename") }
        try syncObjects(name.id)
    }

    /// Writes the first bytes of a file to another one.
    static func append(_ source: OpenFile, to file: OpenFile, at offset: Int64, count: Int64) throws(FileError) {
        var position: Int64 = 0
        try forEachPiece(of: source, 0, count) { bytes throws(FileError) in
            try write(bytes, to: file, at: offset + position)
            position += Int64(bytes.count)
        }
    }

    func openObject(_ name: FileName, at _: Int64, count _: Int64) throws(FileError) -> ObjectWindow {
        guard let kept = name.kept else { preconditionFailure("an upload is no object") }
        let path = object(name.id, kept.version, kept.part)
        let file = try open(path, in: folder("objects", name.id), O_RDONLY), size = try file.size()
        return ObjectWindow(file: file, start: 0, end: size, size: size)
    }

    func objects(in folder: String) throws(FileError) -> [StoredObject] { try files(in: "objects", "\(folder)/") }

    func removeUpload(_ id: MediaID) throws(FileError) { try remove(incoming(id)) }

    func removeObject(_ id: MediaID, _ version: Int64) throws(FileError) {
        for part in ObjectPart.allCases { try remove(object(id, version, part)) }
    }

    func removeAll(_ id: MediaID, _ version: Int64?) throws(FileError) {
        if let version { try removeObject(id, version) }
    }

    func remove(_ object: StoredObject) throws(FileError) { try remove(address(of: object)) }

    func address(of object: StoredObject) -> String { "\(root)/objects/\(object.path)" }

    private func remove(_ path: String) throws(FileError) {
        guard unlink(path) == 0 || errno == ENOENT else { throw FileError("unlink") }
    }

    // MARK: As a spool

    /// What waits here: uploads whose names begin so, and in the folder "staging" what is on its way to an object store.
    func waiting(in folder: String) throws(FileError) -> [StoredObject] {
        folder == Self.staging ? try files(in: folder, "") : try files(in: "incoming", "\(folder)/")
    }

    static let staging = "staging"

    func address(ofWaiting object: StoredObject, in folder: String) -> String {
        "\(root)/\(folder == Self.staging ? folder : "incoming")/\(object.path)"
    }

    func remove(waiting object: StoredObject, in folder: String) throws(FileError) {
        try remove(address(ofWaiting: object, in: folder))
    }

    /// A file without a name, gone with its process.
    func temporaryFile() throws(FileError) -> OpenFile {
        let path = "\(root)/staging/\(UInt64.random(in: 0 ... .max)).window"
        let file = try OpenFile(path, O_RDWR | O_CREAT | O_EXCL)
        try remove(path)
        return file
    }

    /// The files of a directory; none where there is no such directory.
    /// - Parameter folder: empty, or a name and `/`.
    private func files(in kind: String, _ folder: String) throws(FileError) -> [StoredObject] {
        guard let directory = opendir("\(root)/\(kind)/\(folder)") else {
            if errno == ENOENT { return [] }
            throw FileError("opendir")
        }
        defer { closedir(directory) }
        var found: [StoredObject] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            var facts = stat()
            guard lstat("\(root)/\(kind)/\(folder)\(name)", &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
                continue
            }
            found.append(
                StoredObject(path: folder + name, size: Int64(facts.st_size), modifiedAt: Int64(facts.st_ctim.tv_sec)))
        }
        return found
    }
}
