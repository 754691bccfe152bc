import Bus
import Models
import Postgres
import Reactor
import Slots
import Wire

/// Changes a user's own settings.
extension PutSettings: BatchStep {
    var isOfOneSlot: Bool { true }

    static var statements: [Statement] { [SettingsStatement.put.untyped] }

    func lock(_ locks: inout Locks) {
        if let key { locks.insert(key: key, of: user) }
        locks.insert(user: user)
        locks.insert(newStreamOf: user)
    }

    func add(to batch: inout Batch, _ request: RequestKey, _: ConversationLimit) {
        batch.execute(SettingsStatement.put) { parameters, input in
            parameters.set(input.user, to: user)
            parameters.set(input.knownBy, to: WriteStatement.knownBy(key, request))
            parameters.set(input.readReceipts, to: readReceipts.valueForUser)
            parameters.set(input.presence, to: presence.valueForUser)
        }
    }

    func finish(_ command: Command, _ rows: StepRows, _ outcomes: CommandOutcomes) {
        let columns = SettingsStatement.put.columns, row = rows.row
        if let useq = row[columns.useq], let at = row[columns.at], let settings = UserSettings(row, columns) {
            let fields = PrivateChangeFields(useq: useq, kind: .settingsChanged, at: at, settings: .ofUser(settings))
            outcomes.announcer.announce(fields, to: user, causedIn: user.slot)
        }
        if let code = Problem.Code(rawValue: UInt8(row[columns.problem])) {
            outcomes.bus.respond(
                to: command.request, code == .unauthenticated ? .erasedUser : Problem(code, WriteStatement.keyWasUsed))
        } else {
            let queries = outcomes.queries
            Reactor.spawn {
                await queries.finish(command.request, for: .user(user)) {
                    try await queries.settings(SettingsQuery(user))
                }
            }
        }
    }
}

extension SettingsStatement {
    struct Change: NamedFields {
        let user: UserInput
        let knownBy: Parameter<[UUIDBytes?]>
        let readReceipts: Parameter<Bool?>
        let presence: Parameter<Bool?>
    }

    struct Outcome: NamedFields {
        let problem: Column<Int16>
        let readReceipts: Column<Bool?>
        let presence: Column<Bool?>
        let useq: Column<Int64?>
        let at: Column<Timestamp?>
    }

    fileprivate static let put = PreparedStatement<Change, Outcome>(
        "put_settings", PackageResources.put_settings_sql, .store)
}

extension UserSettings {
    /// Nil if nothing changed.
    fileprivate init?(_ row: Row, _ columns: SettingsStatement.Outcome) {
        guard let readReceipts = row[columns.readReceipts], let presence = row[columns.presence] else { return nil }
        self.init(readReceipts: readReceipts, presence: presence)
    }
}

extension SettingChange {
    /// A user's own settings inherit only from the default.
    fileprivate var valueForUser: Bool? { self == .inherit ? true : value }
}
