import Models
import Postgres
import Slots
import Wire

/// A user becomes a member, or a member gets another role.
enum PutMember {
    /// Stays of one user in a conversation. All of them come with every `welcome`, whoever brought them about.
    static let staysLimit = 100

    struct Input: NamedFields {
        let write: WriteStatement.Input
        let user: Parameter<UserID>
        let userSlot: Parameter<Slot>
        let role: Parameter<MemberRole?>
        let limit: Parameter<Int32>
    }

    static let statement = PreparedStatement<Input, WriteStatement.Columns>(
        "put_member", PackageResources.put_member_sql, .store)

    static func add(
        _ write: Write, _ request: RequestKey, _ user: UserID, _ role: MemberRole?, _ limit: Int32,
        to batch: inout Batch
    ) {
        batch.execute(statement) { parameters, input in
            parameters.set(input.write, to: write, request)
            parameters.set(input.user, to: user)
            parameters.set(input.userSlot, to: user.slot)
            parameters.set(input.role, to: role)
            parameters.set(input.limit, to: limit)
        }
    }
}
