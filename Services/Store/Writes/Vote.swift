import Models
import Postgres
import Wire

/// A member votes in a poll, or withdraws their vote. The last vote of a user wins.
struct Vote: WriteKind {
    struct Input: NamedFields {
        let options: Parameter<Int16>
    }

    static let statement = PreparedWrite<Input>("vote", PackageResources.vote_sql, .store)

    let message: MessageID?
    let options: PollOptions

    func set(_ input: Input, in parameters: inout Parameters, _: ConversationLimit) {
        parameters.set(input.options, to: options.stored)
    }

    var changes: WriteChanges { .message(.pollVoted) }
    /// Who has not answered has no vote to withdraw.
    var answersRequests: Bool { options.bits != 0 }
    var content: WriteContent? { messageContent }

    static let invalidOptions =
        "options: must be positions of the poll's options, from 0, and one at most unless it is multiple"

    func explanation(of code: Problem.Code) -> String? {
        switch code {
        case .invalid: Self.invalidOptions
        case .conflict: ClosePoll.isNoPoll
        case .pollClosed: "nobody votes in it any more"
        default: nil
        }
    }
}

/// Its sender, or who leads the group, ends a poll.
struct ClosePoll: WriteKind {
    static let statement = PreparedWrite<NoFields>("close_poll", PackageResources.close_poll_sql, .store)

    let message: MessageID?

    var changes: WriteChanges { .message(.pollClosed) }
    var content: WriteContent? { messageContent }

    fileprivate static let isNoPoll = "the message is no poll, or is deleted, or \(WriteStatement.everyConflict)"

    func explanation(of code: Problem.Code) -> String? {
        switch code {
        case .forbidden: "only its sender, and the owners and admins of a group, as members, may do this"
        case .conflict: Self.isNoPoll
        default: nil
        }
    }
}

extension PollOptions {
    /// As the database has them. No poll has the last option of a number that is too large.
    var stored: Int16 { Int16(clamping: bits) }
}
