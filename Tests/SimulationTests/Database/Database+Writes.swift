import Models
import Postgres
import SimulationSupport
import Wire

// What all writes have in common: `WriteStatement`.
extension Database {
    /// The name by which a repeated write is recognized: the client's key, or the request.
    struct WriteName {
        let key: UUIDBytes?
        let request: UUIDBytes?

        init(_ elements: [UUIDBytes?]) { (key, request) = (elements[0], elements[1]) }
    }

    /// A write and the stored state that its statement sees.
    struct Writing {
        let conversation: ConversationID
        let actor: UserID
        let name: WriteName
        let subject: UUIDBytes?
        let stored: Tables.Conversation

        /// The message named by the write, if its actor can see it.
        var visibleTarget: Tables.Message? {
            target.flatMap { stored.hidden[actor, default: []].contains($0.seq) ? nil : $0 }
        }

        /// The message named by the write, even if its actor has hidden it.
        var target: Tables.Message? {
            existingTarget.flatMap { message in
                stored.stays[actor]!.contains { $0.shows(message.seq) } ? message : nil
            }
        }

        /// The message named by the write, regardless of who can see it.
        var existingTarget: Tables.Message? { subject.flatMap { stored.message(MessageID($0)) } }
    }

    /// The decision about a write.
    enum Verdict {
        case refused(Problem.Code)
        /// Nothing to do.
        case void
        case due(Effect)
    }

    /// The effect of a write.
    struct Effect {
        /// The new position of the private stream that gets a change.
        var useq: Int64?
    }

    /// What a statement returns whether the write is due or not.
    struct Report {
        /// The number of positions that the write takes if it is due. Nil: the statement says it only then.
        var positions: Int64? = 0
        /// The value that the private change reports.
        var detail: Int64?
    }

    /// $1 slot · $2 conversation · $3 actor · $4 their slot · $5 name · $6 action · $7 subject · then the action's own
    ///
    /// - Parameter byFormer: whether it is of former members alone; nil: of present ones, too.
    /// - Parameter report: made from the conversation before the write; nil if there is none.
    func write(
        _ arguments: Arguments, byFormer: Bool? = false, reporting report: (Tables.Conversation?) -> Report,
        _ carryOut: (Writing) -> Verdict
    ) -> [SimulatedRow] {
        let conversation: ConversationID = arguments.value(1)
        let report = report(tables.conversations[conversation])
        let actor: UserID = arguments.value(2)
        let name = WriteName(arguments.optionals(4))
        let subject: UUIDBytes? = arguments.value(6)
        var outcome = Tables.Outcome(
            action: arguments.value(5), conversation: conversation, subject: subject, problem: 0)
        if let prior = priorProblem(actor, name, outcome) { return [row(.repeated(prior), report, conversation)] }
        let verdict = judge(actor, byFormer: byFormer, conversation) { stored in
            carryOut(Writing(conversation: conversation, actor: actor, name: name, subject: subject, stored: stored))
        }
        if case .refused(let code) = verdict { outcome.problem = Int16(code.rawValue) }
        keep(outcome, actor, name)
        return [row(.new(verdict), report, conversation)]
    }

    private func judge(
        _ actor: UserID, byFormer: Bool?, _ conversation: ConversationID, _ carryOut: (Tables.Conversation) -> Verdict
    ) -> Verdict {
        guard let stored = tables.conversations[conversation], stored.stays[actor] != nil else {
            return .refused(.notFound)
        }
        if let byFormer, stored.isMember(actor) == byFormer { return .refused(byFormer ? .conflict : .forbidden) }
        return carryOut(stored)
    }

    /// Returns the problem of the earlier request with this name, or 0. A different request makes it a conflict.
    func priorProblem(_ user: UserID, _ name: WriteName, _ outcome: Tables.Outcome) -> Int16? {
        if let request = name.request { return tables.recentOutcomes[request] }
        guard let key = name.key, let prior = tables.outcomes[Tables.OutcomeKey(user: user, key: key)] else {
            return nil
        }
        var same = outcome
        same.problem = prior.problem
        return prior == same ? prior.problem : Int16(Problem.Code.conflict.rawValue)
    }

    func keep(_ outcome: Tables.Outcome, _ user: UserID, _ name: WriteName) {
        if let request = name.request, world.mutation != .requestsAreForgotten {
            tables.recentOutcomes[request] = outcome.problem
        }
        guard let key = name.key, world.mutation != .keysAreForgotten else { return }
        tables.outcomes[Tables.OutcomeKey(user: user, key: key)] = outcome
    }

    private enum Result {
        case repeated(Int16)
        case new(Verdict)
    }

    /// Problem · is repeated · is due · position · its time · positions taken · private position · reported value. A write
    /// that takes no position has the present time.
    private func row(_ result: Result, _ report: Report, _ conversation: ConversationID) -> SimulatedRow {
        var problem: Int16 = 0
        var isRepeat = false
        var effect: Effect?
        switch result {
        case .repeated(let prior): (problem, isRepeat) = (prior, true)
        case .new(.refused(let code)): problem = Int16(code.rawValue)
        case .new(.void): break
        case .new(.due(let done)): effect = done
        }
        let moved = effect.flatMap { _ in tables.conversations[conversation] }
        return [
            SimulatedValue(problem), SimulatedValue(isRepeat), SimulatedValue(effect != nil),
            SimulatedValue(moved?.lastSeq), SimulatedValue(moved.map { report.positions ?? 0 > 0 ? $0.lastAt : clock }),
            SimulatedValue(report.positions), SimulatedValue(effect?.useq), SimulatedValue(report.detail),
        ]
    }
}
