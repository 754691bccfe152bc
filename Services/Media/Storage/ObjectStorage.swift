import Models

/// A part of what is kept of a file, in a file of this machine.
struct ObjectWindow: Sendable {
    let file: OpenFile
    /// Where the file's bytes begin and end in the object.
    let start: Int64
    let end: Int64
    /// Of the object.
    let size: Int64

    func contains(_ offset: Int64) -> Bool { start <= offset && offset < end }

    /// What is asked of a remote object at first, and then at a time. A client that is slow holds so much of the disk.
    static let firstBytes: Int64 = 1 << 20
    static let furtherBytes: Int64 = 4 << 20
}

/// What a storage has.
struct StoredObject: Sendable {
    /// `3f/3f0c….17.content`
    let path: String
    let size: Int64
    /// When it was completed, in seconds since 1970.
    let modifiedAt: Int64

    var name: String { path.split(separator: "/").last.map(String.init) ?? path }
}

/// Where what is kept of files is: objects with names that never change, whole or not there.
///
/// Its methods wait for a disk or a server: a `FilePool` runs them.
protocol ObjectStorage: Sendable, CustomStringConvertible {
    /// Whether calls wait for a server.
    var isRemote: Bool { get }

    /// Whether it is there and may be used.
    func check() throws(FileError)

    // MARK: Keeping

    /// Creates a part of a new version, on this machine.
    func createObject(_ id: MediaID, _ version: Int64, _ part: ObjectPart) throws(FileError) -> OpenFile

    /// Keeps what was written of a new version: it is certain to be there afterwards.
    func keepObject(_ id: MediaID, _ version: Int64, _ parts: [ObjectPart: OpenFile]) throws(FileError)

    /// Keeps an upload, which is complete and on the disk, as the content of an object. The upload stays until
    /// `removeUpload`, so that this can be done again.
    func keepUpload(_ id: MediaID, as version: Int64) throws(FileError)

    /// Keeps a copy of all parts of what is kept under the name of another file, in the same version. It can be done again.
    /// Fails with `ENOENT` where they are not there any more.
    func copy(_ object: KeptObject, to id: MediaID) throws(FileError)

    /// Keeps a whole file.
    func put(_ name: FileName, _ file: OpenFile) throws(FileError)

    // MARK: Reading

    /// Fails with `ENOENT` where there is no such object.
    /// - Parameter count: what is wanted from `offset` on; a storage of this machine gives all there is.
    func openObject(_ name: FileName, at offset: Int64, count: Int64) throws(FileError) -> ObjectWindow

    /// All whose names begin with a byte, in hexadecimal digits.
    func objects(in folder: String) throws(FileError) -> [StoredObject]

    // MARK: Removing

    /// Removes one version. Another may be the one that counts.
    func removeObject(_ id: MediaID, _ version: Int64) throws(FileError)

    /// Removes what there is of a file that nobody sees any more.
    /// - Parameter version: that its row names.
    func removeAll(_ id: MediaID, _ version: Int64?) throws(FileError)

    func remove(_ object: StoredObject) throws(FileError)

    /// Where it is, for people.
    func address(of object: StoredObject) -> String
}

/// The first bytes of ids, in hexadecimal digits: `00` to `ff`.
let objectFolders: [String] = {
    let digits = Array("0123456789abcdef")
    return digits.flatMap { high in digits.map { low in "\(high)\(low)" } }
}()
