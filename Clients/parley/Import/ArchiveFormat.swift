import Archives
import CommandSupport
import Models

/// The formats of archives, as the command line names them.
enum ArchiveFormat: String, CaseIterable {
    case chatdb, parley, irc

    /// The reader of these files, one after the other.
    static func reader(_ arguments: Arguments, now: Timestamp) throws(UsageError) -> any ArchiveReader & Sendable {
        guard let format = ArchiveFormat(rawValue: arguments.positional[0]) else {
            throw UsageError("\"\(arguments.positional[0])\" is no format of archives; see parley import --help")
        }
        let files = Array(arguments.positional.dropFirst())
        guard format == .chatdb else {
            return ArchiveSequence(
                files.map { ($0, format == .irc ? IRCArchive(path: $0, now: now) : RecordFile(path: $0)) })
        }
        guard files.count == 1 else { throw UsageError("chatdb takes one file: it has all conversations of its user") }
        return ChatArchive(path: files[0], me: try arguments.user("me"), now: now)
    }
}
