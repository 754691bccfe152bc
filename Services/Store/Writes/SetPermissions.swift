import Models
import Postgres
import Wire

/// An owner decides who may do what in a group.
struct SetPermissions: WriteKind {
    struct Input: NamedFields {
        let permissions: Parameter<Int16>
        let unchanged: Parameter<Int16>
    }

    static let statement = PreparedWrite<Input>("set_permissions", PackageResources.set_permissions_sql, .store)

    let permissions: GroupPermissions

    func set(_ input: Input, in parameters: inout Parameters, _: ConversationLimit) {
        parameters.set(input.permissions, to: Int16(permissions.stored))
        parameters.set(input.unchanged, to: Int16(permissions.unchanged))
    }

    var content: WriteContent? { { queries, head in try await queries.conversation(head) } }

    func explanation(of code: Problem.Code) -> String? { code == .forbidden ? WriteStatement.onlyOwner : nil }
}
