import Models
import Postgres
import Slots
import Wire

/// A user is a member no longer: they leave, or an owner or admin removes them.
struct RemoveMember: WriteKind {
    static let statement = PreparedWrite<UserInput>("remove_member", PackageResources.remove_member_sql, .store)
    /// An erased user leaves, direct conversations too.
    private static let ofErased = PreparedWrite<UserInput>("erase_member", PackageResources.erase_member_sql, .store)

    static var statements: [Statement] { [statement.untyped, ofErased.untyped] }

    let user: UserID

    func set(_ input: UserInput, in parameters: inout Parameters, _: ConversationLimit) {
        parameters.set(input, to: user)
    }

    /// May be repeated as it is.
    static func add(ofErased user: UserID, in conversation: ConversationID, to batch: inout Batch) {
        let write = Write(conversation, by: user, key: nil, .removeMember(user))
        batch.execute(ofErased) { parameters, input in
            parameters.set(input.write, to: write, RemoveMember(user: user).subject, nil)
            parameters.set(input.own, to: user)
        }
    }

    var subject: UUIDBytes? { UUIDBytes(hashOf: user.name) }

    func notice(by _: UserID) -> PrivateNotice? { PrivateNotice(to: user, .conversationLeft) }

    func explanation(of code: Problem.Code) -> String? {
        switch code {
        case .notFound: "there is no such conversation, or no such member"
        case .forbidden: "only an owner may do this, and an admin to those who are neither"
        default: nil
        }
    }
}
