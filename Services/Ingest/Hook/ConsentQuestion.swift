import Bytes
import JSON
import Models
import Wire

/// Whether the people may be brought into a conversation whom one command is to bring in: one that creates it, or one that adds a
/// member.
struct ConsentQuestion: HookQuestion {
    private enum Content {
        case creation(CreateConversation)
        case addition(Write, UserID, MemberRole?, Introduction)
    }

    static let type: StaticString = "member.asked"
    static let author: StaticString = "adderId"
    static let list: StaticString = "members"
    static let actions: [HookAnswer.Action.Name] = [.allow, .ask, .decline, .refuse]

    let command: [UInt8]
    private let content: Content

    /// Nil: the command brings nobody in.
    init?(_ kind: StoreRequestKind, _ command: [UInt8]) {
        self.command = command
        let content = command.withUnsafeBytes { bytes -> Content? in
            var reader = ByteReader(bytes)
            switch kind {
            case .createConversation:
                return (try? CreateConversation(from: &reader)).map(Content.creation)
            case .write:
                guard let write = try? Write(from: &reader),
                    case .putMember(let user, let role, let introduction) = write.action
                else { return nil }
                return .addition(write, user, role, introduction)
            default: return nil
            }
        }
        guard let content else { return nil }
        self.content = content
    }

    private var members: [UserID] {
        switch content {
        case .creation(let creation): creation.members
        case .addition(_, let user, _, _): [user]
        }
    }

    var count: Int { members.count }

    /// All of them decline.
    var declined: [Consent] { Array(repeating: .declined, count: count) }

    func write(to buffer: inout ByteBuffer) {
        for member in members {
            buffer.beginElement()
            buffer.beginObject()
            switch content {
            case .creation(let creation):
                buffer.append(key: "kind", json: creation.kind.name)
                buffer.append(key: "conversationId", json: creation.conversation)
                if !creation.title.isEmpty { buffer.append(key: "title", json: creation.title) }
            case .addition(let write, _, _, _):
                // Nobody is added to a direct conversation.
                buffer.append(key: "kind", json: ConversationKind.group.name)
                buffer.append(key: "conversationId", json: write.conversation)
            }
            buffer.append(key: "userId", json: member)
            buffer.endObject()
        }
    }

    /// The command with what the application said of each member.
    func command(with consents: [Consent]) -> [UInt8] {
        var buffer = ByteBuffer()
        switch content {
        case .creation(var creation):
            creation.introduction.consents = consents
            creation.write(to: &buffer)
        case .addition(var write, let user, let role, var introduction):
            introduction.consents = consents
            write.action = .putMember(user, role, introduction)
            write.write(to: &buffer)
        }
        return buffer.array
    }
}
