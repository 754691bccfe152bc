import Foundation
import ParleyStorage

/// The `chat.db` that is followed, kept open between two looks at it.
///
/// It is opened again where another file has its name, and where it was opened without locks, because nobody wrote, and
/// somebody does now.
final class ChatSource {
    private let path: String
    private var opened: ChatDatabase?
    private var file: FileName?
    private var version: Int64?

    /// Which file has the name.
    private struct FileName: Equatable {
        let device, number: UInt64

        init?(_ path: String) {
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
                let device = attributes[.systemNumber] as? NSNumber,
                let number = attributes[.systemFileNumber] as? NSNumber
            else { return nil }
            self.device = device.uint64Value
            self.number = number.uint64Value
        }
    }

    enum Change {
        case none
        /// Somebody has written.
        case written
        /// It was opened, so anything may be different.
        case opened
    }

    init(path: String) { self.path = path }

    /// What has happened since the last call. Throws where the file cannot be read now.
    func change() throws -> Change {
        do {
            return try lookAgain()
        } catch {
            // Such as a file that is replaced while it is read.
            opened = nil
            throw error
        }
    }

    private func lookAgain() throws -> Change {
        let name = FileName(path)
        guard let opened, name == file, opened.isCurrent else {
            let database = try ChatDatabase(path: path)
            (file, version) = (name, try database.dataVersion())
            opened = database
            return .opened
        }
        let present = try opened.dataVersion()
        defer { version = present }
        return present == version ? .none : .written
    }

    /// Calls `body` in one snapshot of the file.
    func snapshot<Value>(_ body: (ChatDatabase) throws -> Value) throws -> Value {
        guard let opened else { throw ArchiveError("\(path) is not open") }
        return try opened.snapshot { try body(opened) }
    }

    /// Copies the file as it is now.
    func copy(to copy: String) throws {
        if opened == nil { _ = try change() }
        try opened?.copy(to: copy)
    }
}
