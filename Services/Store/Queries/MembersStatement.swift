import Models
import Postgres
import Wire

/// The members of a conversation, as of the reader's last position.
enum MembersStatement {
    struct PageInput: NamedFields {
        let head: ReaderInput
        let after: Parameter<String>
        let limit: Parameter<Int64>
    }

    struct SingleInput: NamedFields {
        let head: ReaderInput
        let user: Parameter<UserID>
    }

    /// The columns of {member_as_of}, of which both statements return these and no others.
    struct Columns: NamedFields {
        let userId: Column<UserID>
        let role: Column<MemberRole>
        let joinedSeq: Column<Int64>
        let deliveredSeq: Column<Int64>
        let readSeq: Column<Int64>
    }

    static let columns = SQLNames.store.columns(Columns.self, of: "member_as_of")

    static let page = PreparedStatement<PageInput, Columns>("members", PackageResources.members_sql, .store)
    static let single = PreparedStatement<SingleInput, Columns>("member", PackageResources.member_sql, .store)

    static func set(_ query: MembersQuery, of input: PageInput, in parameters: inout Parameters) {
        parameters.set(input.head, to: query.head)
        parameters.set(input.after, to: query.after)
        // One more row shows whether there are more.
        parameters.set(input.limit, to: Int64(query.limit) + 1)
    }
}
