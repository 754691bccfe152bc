import CommandSupport
import Models
import ParleyClient
import Reactor
import ReactorTransport

/// `parley tail`: prints what a user sees, live.
struct TailCommand: Command {
    static let description = CommandDescription(
        name: "tail", summary: "Prints what a user sees, live, until Ctrl-C.",
        options: [
            .init("user", "USER", "whose eyes to look through"),
            .init("conversation", "ID", "show this one alone"),
            .init("after", "SEQ", "begin behind this position of --conversation (default: now; 0 for everything)"),
            .init("receipts", nil, "show who received and read how far"),
            .init("typing", nil, "show who is typing"),
            .init("acknowledge", nil, "tell the senders that the messages were delivered"),
            .init("json", nil, "print the changes as they came, control characters escaped"),
        ] + ConnectionArguments.options,
        details: """
            When the connection is lost it is opened again, and nothing is missed or shown twice.
            Example: parley tail --user bob --receipts
            """)

    private let connection: ConnectionArguments
    private let user: UserID
    private let settings: Tail.Settings

    init(_ arguments: Arguments) throws(UsageError) {
        connection = try ConnectionArguments(arguments)
        user = try arguments.user("user")
        settings = Tail.Settings(
            conversation: try arguments.uuid("conversation").map(ConversationID.init),
            after: try arguments.integer("after", in: 0 ... .max).map(Int64.init),
            showsReceipts: arguments.flag("receipts"), showsTyping: arguments.flag("typing"),
            acknowledges: arguments.flag("acknowledge"), printsJSON: arguments.flag("json"))
        if settings.after != nil, settings.conversation == nil {
            throw UsageError("--after is a position in one conversation: name it with --conversation")
        }
    }

    @Reactor func run() async -> Int32 {
        let api = ParleyAPI(http: HTTPClient(connection.http))
        let tail = Tail(settings)
        var cursors: [ConversationID: Int64] = [:]
        if let conversation = settings.conversation, let after = settings.after { cursors[conversation] = after }
        let session = LiveSession(
            connection.webSocket, api: api, cursors: cursors, owner: tail,
            token: { [connection, user] in connection.tokens.token(for: user) })
        tail.session = session
        session.start()
        return await tail.untilItEnds()
    }
}
