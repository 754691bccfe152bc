import Bus
import Models
import Postgres
import Reactor
import Slots
import Wire

/// Replaces a user's profile.
extension PutProfile: BatchStep {
    var isOfOneSlot: Bool { true }

    static var statements: [Statement] { [ProfileStatements.put.untyped] }

    func lock(_ locks: inout Locks) {
        if let key { locks.insert(key: key, of: user) }
        locks.insert(user: user)
        locks.insert(newStreamOf: user)
    }

    func add(to batch: inout Batch, _ request: RequestKey, _: ConversationLimit) {
        batch.execute(ProfileStatements.put) { parameters, input in
            parameters.set(input.user, to: user)
            parameters.set(input.knownBy, to: WriteStatement.knownBy(key, request))
            parameters.set(input.displayName, to: displayName.isEmpty ? nil : displayName)
            parameters.set(input.avatarUrl, to: avatarURL.isEmpty ? nil : avatarURL)
            parameters.set(input.extra, to: extra.isEmpty ? nil : extra)
        }
    }

    func finish(_ command: Command, _ rows: StepRows, _ outcomes: CommandOutcomes) {
        let columns = ProfileStatements.put.columns, row = rows.row
        if let version = row[columns.version], let useq = row[columns.useq], let at = row[columns.at] {
            let fields = PrivateChangeFields(useq: useq, kind: .profileChanged, at: at, profileVersion: version)
            outcomes.announcer.announce(fields, to: user, causedIn: user.slot)
            outcomes.profiles.changed(user, to: version)
        }
        if let code = Problem.Code(rawValue: UInt8(row[columns.problem])) {
            return outcomes.bus.respond(
                to: command.request, code == .unauthenticated ? .erasedUser : Problem(code, WriteStatement.keyWasUsed))
        }
        let queries = outcomes.queries
        Reactor.spawn {
            await queries.finish(command.request, for: .user(user)) { try await queries.ownProfile(user) }
        }
    }
}
