import Models
import Postgres
import Slots
import Wire

/// A user is a member no longer: they leave, or an owner removes them.
enum RemoveMember {
    struct Input: NamedFields {
        let write: WriteStatement.Input
        let user: Parameter<UserID>
        let userSlot: Parameter<Slot>
    }

    typealias Removal = PreparedStatement<Input, WriteStatement.Columns>

    static let statement = Removal("remove_member", PackageResources.remove_member_sql, .store)
    /// An erased user leaves, direct conversations too.
    static let ofErased = Removal("erase_member", PackageResources.erase_member_sql, .store)

    static func add(_ write: Write, _ request: RequestKey, _ user: UserID, to batch: inout Batch) {
        add(statement, write, request, user, to: &batch)
    }

    /// May be repeated as it is.
    static func add(ofErased user: UserID, in conversation: ConversationID, to batch: inout Batch) {
        add(ofErased, Write(conversation, by: user, key: nil, .removeMember(user)), nil, user, to: &batch)
    }

    private static func add(
        _ removal: Removal, _ write: Write, _ request: RequestKey?, _ user: UserID, to batch: inout Batch
    ) {
        batch.execute(removal) { parameters, input in
            parameters.set(input.write, to: write, request)
            parameters.set(input.user, to: user)
            parameters.set(input.userSlot, to: user.slot)
        }
    }
}
