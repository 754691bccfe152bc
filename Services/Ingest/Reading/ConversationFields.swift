import JSON
import Models
import ServiceKit
import Wire

/// A conversation as a client creates it: `{id, kind: "group", members, title?}` or `{kind: "direct", members}`.
struct ConversationFields {
    /// A field whose type matters only for groups: a direct conversation ignores it.
    private enum LooseString {
        case absent
        case text(JSONString)
        case other
    }

    private var kind: JSONString?
    private var id = LooseString.absent
    private var title = LooseString.absent
    private var members: [UserID]?

    /// Reads the command to create a conversation from `body`.
    static func command(
        _ body: UnsafeRawBufferPointer, creator: UserID, limits: ClientLimits
    ) throws(Problem) -> CreateConversation {
        let fields = try reading { () throws(JSONError) in try ConversationFields(body) }
        guard let kind = fields.kind else { throw .missing("kind") }
        guard let members = fields.members else { throw .missing("members") }
        if kind == ConversationKind.direct.name { return try direct(creator, members) }
        guard kind == ConversationKind.group.name else { throw Problem(.invalid, "kind: must be group or direct") }
        return try fields.group(creator, members, limits)
    }

    private static let keys: JSONKeys = ["kind", "id", "title", "members"]

    private init(_ body: UnsafeRawBufferPointer) throws(JSONError) {
        var reader = JSONReader(body)
        var given = JSONKeys.Given()
        try reader.beginObject()
        while let key = try reader.nextKey(of: Self.keys, &given) {
            switch key {
            case "kind": kind = try reader.slice()
            case "id": id = try Self.looseString(&reader)
            case "title": title = try Self.looseString(&reader)
            case "members": members = try reader.users()
            default: try reader.skip()
            }
        }
        try reader.end()
    }

    private static func looseString(_ reader: inout JSONReader) throws(JSONError) -> LooseString {
        if try reader.consumeNull() { return .absent }
        if try reader.kind() == .string { return .text(try reader.slice()) }
        try reader.skip()
        return .other
    }

    private static func direct(_ creator: UserID, _ members: [UserID]) throws(Problem) -> CreateConversation {
        guard members.count == 1, members[0] != creator else {
            throw Problem(.invalid, "members: a direct conversation is with exactly one other user")
        }
        return CreateConversation(
            conversation: DirectConversation.id(creator, members[0]), kind: .direct, creator: creator, title: "",
            members: members)
    }

    private func group(
        _ creator: UserID, _ members: [UserID], _ limits: ClientLimits
    ) throws(Problem) -> CreateConversation {
        guard members.count <= limits.membersPerRequest else {
            throw Problem(.tooLarge, "members: at most \(limits.membersPerRequest) users")
        }
        var seen: Set<UserID> = [creator]
        let others = members.filter { seen.insert($0).inserted }
        guard seen.count <= limits.membersPerConversation else { throw .fullConversation }
        return CreateConversation(
            conversation: try groupID(), kind: .group, creator: creator, title: try title(limits), members: others)
    }

    private func groupID() throws(Problem) -> ConversationID {
        if case .absent = id { throw .missing("id") }
        guard case .text(let text) = id, let uuid = text.withBytes({ UUIDBytes(text: $0) }), uuid.isChosenByClient
        else { throw Problem(.invalid, "id: must be a UUID of version 4 or 7 in lower case") }
        return ConversationID(uuid)
    }

    static func checked(title text: JSONString, _ limits: ClientLimits) throws(Problem) -> String {
        guard !text.withBytes(isBlank) else { throw Problem(.invalid, "title: must not be blank") }
        let title = text.string
        guard title.unicodeScalars.count <= ContractLimits.titleCharacters else {
            throw Problem(.tooLarge, "title: at most \(ContractLimits.titleCharacters) characters")
        }
        return title
    }

    /// The checked title; empty for no title.
    private func title(_ limits: ClientLimits) throws(Problem) -> String {
        switch title {
        case .absent: return ""
        case .other: throw Problem(.invalid, "title: must be a string")
        case .text(let text): return try Self.checked(title: text, limits)
        }
    }
}
