import Archives
import CommandSupport
import Models
import Reactor
import ServiceKit

/// `parley archive`: turns the archive of another system into the records of an import, and says what becomes of it.
struct ArchiveCommand: Command {
    static let description = CommandDescription(
        name: "archive",
        summary: "Turns an archive, such as the database of Apple's Messages, into the records of an import.",
        positional: ["FORMAT", "FILE"],
        options: [
            .init("me", "USER", "chatdb: the user whose file it is"),
            .init("records", "FILE", "write the records there, a line each; - is standard output"),
            .init("json", "FILE", "write the numbers of the report there, too"),
        ],
        details: """
            FORMAT is one of:
              chatdb   FILE is the chat.db of Messages on a Mac, ~/Library/Messages/chat.db. It is only read, and Messages
                       may be running. Phone numbers and mail addresses become user ids.
              parley   FILE has the records themselves, in the format of POST /v1/import.

            Nothing is sent. Without --records the archive is read and checked: the report counts what becomes of each row,
            what is not as it was, and the records that an import would refuse. The exit status is 0 when none would be, else 1.
            Example: parley archive chatdb chat.db --me alice --records alice.ndjson
            """)

    private let reader: any ArchiveReader & Sendable
    private let recordsFile: String?
    private let reportFile: String?
    private let now = Timestamp.now

    init(_ arguments: Arguments) throws(UsageError) {
        let (format, file) = (arguments.positional[0], arguments.positional[1])
        switch format {
        case "chatdb": reader = ChatArchive(path: file, me: try arguments.user("me"), now: now)
        case "parley": reader = RecordFile(path: file)
        default: throw UsageError("\"\(format)\" is no format of archives; see parley archive --help")
        }
        recordsFile = arguments.value("records")
        reportFile = arguments.value("json")
    }

    @Reactor func run() async -> Int32 {
        do {
            var conversion = try ArchiveConversion(to: recordsFile, now: now)
            let report = try conversion.run(reader)
            let summary = ArchiveSummary(report, conversion)
            // The records may be on standard output.
            recordsFile == "-" ? Terminal.tell(summary.table) : Terminal.say(summary.table)
            if let reportFile { try TextFile.write(try summary.json + "\n", to: reportFile) }
            return summary.isFaultless ? 0 : 1
        } catch {
            Terminal.tell("parley: \(error)")
            return 1
        }
    }
}
