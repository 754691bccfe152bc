import CommandSupport
import Models
import ParleyClient
import Reactor
import ReactorTransport

/// `parley verify`: checks that what a user reads matches the server's digests.
struct VerifyCommand: Command {
    static let description = CommandDescription(
        name: "verify", summary: "Reads what a user sees and compares it with the server's digests.",
        options: [
            .init("user", "USER", "whose eyes to look through"),
            .init("conversation", "ID", "look at this one alone (default: all of the user's)"),
        ] + ConnectionArguments.httpOptions,
        details: """
            Every change and every message is read, page by page of 1,000 positions, and hashed as openapi.json
            ("Comparing copies") describes. The exit status is 0 when no page differs, else 1.
            Example: parley verify --user alice
            """)

    private let connection: ConnectionArguments
    private let user: UserID
    private let conversation: ConversationID?

    init(_ arguments: Arguments) throws(UsageError) {
        connection = try ConnectionArguments(arguments)
        user = try arguments.user("user")
        conversation = try arguments.uuid("conversation").map(ConversationID.init)
    }

    @Reactor func run() async -> Int32 {
        let api = ParleyAPI(http: HTTPClient(connection.http))
        let token = connection.tokens.token(for: user)
        do throws(APIError) {
            var conversations = [conversation].compactMap { $0 }
            if conversations.isEmpty { conversations = try await all(api, token) }
            var isEqual = true
            for conversation in conversations {
                let outcome = try await Verification(api: api, token: token, conversation: conversation).run()
                Terminal.say(Self.line(conversation, outcome))
                for difference in outcome.differences { Terminal.say("  \(difference)") }
                isEqual = isEqual && outcome.differences.isEmpty
            }
            return isEqual ? 0 : 1
        } catch {
            Terminal.tell("parley: \(error)")
            return 1
        }
    }

    @Reactor private func all(_ api: ParleyAPI, _ token: String) async throws(APIError) -> [ConversationID] {
        var conversations: [ConversationID] = []
        var cursor: String?
        repeat {
            let page = try await api.conversations(before: cursor, token: token)
            conversations += page.conversations.compactMap(\.id)
            cursor = page.nextCursor
        } while cursor != nil
        return conversations
    }

    private static func line(_ conversation: ConversationID, _ outcome: Verification.Outcome) -> String {
        let verdict = outcome.differences.isEmpty ? "equal" : "\(outcome.differences.count) differences"
        return "\(conversation) \(verdict), \(outcome.pages) pages up to position \(outcome.positions)"
    }
}
