import CommandSupport
import Foundation
import Glibc
import Models
import ParleyChat
import ParleyKit
import ParleyLinuxTransport
import Reactor
import ReactorTransport

/// `parley chat`: conversations on a full screen.
struct ChatCommand: Command {
    static let description = CommandDescription(
        name: "chat", summary: "Shows a user's conversations on a full screen, to read and write.",
        optional: "CONVERSATION",
        options: [
            .init("user", "USER", "who reads and writes"),
            .init(
                "directory", "DIRECTORY",
                "where the copy of what the user sees is kept\n(default: parley/SERVER/USER in XDG_DATA_HOME, or in ~/.local/share)"
            ),
            .init("mouse", nil, "click conversations and scroll by the wheel, instead of selecting text"),
        ] + [ConnectionArguments.mediaOption] + ConnectionArguments.options,
        details: """
            It works with the server away: what is written is kept, and sent when the server is back.

            \(HelpText.keys)

            Example: parley chat --user alice
            """)

    private let connection: ConnectionArguments
    private let settings: ChatProgram.Settings
    private let directory: URL

    init(_ arguments: Arguments) throws(UsageError) {
        // There is no line to write to while the screen is shown.
        connection = try ConnectionArguments(arguments, onRefusal: ChatProgram.distrust)
        let user = try arguments.user("user")
        settings = ChatProgram.Settings(
            user: user, conversation: try Self.conversation(arguments.positional.first),
            usesMouse: arguments.flag("mouse"))
        directory = UserDirectory.url(
            arguments.value("directory"), "user", of: user, server: connection.http[0])
    }

    /// This machine and copy: a second session of a device would end the first.
    private var device: String {
        let host = ProcessInfo.processInfo.hostName.prefix(64)
        return "parley chat on \(host) (\(UUIDBytes(hashOf: directory.path).description.prefix(8)))"
    }

    private static func conversation(_ text: String?) throws(UsageError) -> ConversationID? {
        guard let text else { return nil }
        guard let uuid = UUIDBytes(text) else { throw UsageError("CONVERSATION must be a UUID in lower case") }
        return ConversationID(uuid)
    }

    @Reactor func run() async -> Int32 {
        ChatProgram.prepare()
        // The copy holds what others wrote to this user.
        umask(0o077)
        let configuration = Parley.Configuration(
            directory: directory,
            transport: .reactor(http: connection.http, webSocket: connection.webSocket, media: connection.media),
            token: { [connection, settings, device = device] in
                connection.tokens.token(for: settings.user, device: device)
            })
        do throws(ParleyError) {
            let parley = try await Parley.open(configuration)
            guard let reason = await ChatProgram.run(settings, parley: parley) else { return 0 }
            Terminal.tell("parley: \(reason)")
        } catch {
            Terminal.tell("parley: the copy in \(directory.path) cannot be opened: \(error)")
        }
        return 1
    }
}
