import CommandSupport
import Models
import ParleyClient
import Reactor
import ReactorTransport

/// `parley send`: sends one message and prints its acknowledgement.
struct SendCommand: Command {
    static let description = CommandDescription(
        name: "send", summary: "Sends a message and prints it as the server acknowledged it.", positional: ["TEXT"],
        options: [
            .init("user", "USER", "who sends it"),
            .init("conversation", "ID", "where it is sent"),
            .init("reply-to", "ID", "the message it answers"),
            .init("id", "ID", "its own id (default: a new one); with the same id it is never sent twice"),
        ] + ConnectionArguments.httpOptions,
        details: "Example: parley send --user alice --conversation 01900000-0000-7000-8000-00000000cafe \"Hello\"")

    private let connection: ConnectionArguments
    private let token: String
    private let message: OutgoingMessage

    init(_ arguments: Arguments) throws(UsageError) {
        connection = try ConnectionArguments(arguments)
        token = connection.tokens.token(for: try arguments.user("user"))
        message = OutgoingMessage(
            conversation: ConversationID(try arguments.requiredUUID("conversation")),
            id: MessageID(try arguments.uuid("id") ?? .makeTimeOrdered()), text: arguments.positional[0],
            replyTo: try arguments.uuid("reply-to").map(MessageID.init))
    }

    @Reactor func run() async -> Int32 {
        var api = ParleyAPI(http: HTTPClient(connection.http))
        api.patience = .seconds(10)
        do throws(APIError) {
            let body = try await api.call(message.request(token: token))
            Terminal.say(body.withUnsafeBytes(HarmlessJSON.text))
            return 0
        } catch {
            Terminal.tell("parley: \(error)")
            return 1
        }
    }
}
