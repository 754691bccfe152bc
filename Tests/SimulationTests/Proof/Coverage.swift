import Reactor

/// Which statements were compared, over several runs.
@Reactor
struct Coverage {
    private var compared: [String: (times: Int, withRows: Int)] = [:]
    private var prepared: Set<String> = []

    init() {}

    mutating func add(_ replay: Replay) {
        compared.merge(replay.compared) { ($0.times + $1.times, $0.withRows + $1.withRows) }
        prepared.formUnion(replay.prepared)
    }

    /// What should have been compared and was not, and exceptions that there is no need for, in words.
    var gaps: [String] {
        let modelled = Set(Database.statements.keys), texts = Set(SentText.allCases.map(\.rawValue))
        let excepted = Set(Exceptions.ignoredRows.keys).union(Exceptions.leftOut.keys)
        let notSimulated = Set(Exceptions.notSimulated.keys), notReached = Set(Exceptions.notReached.keys)
        return list(
            "never compared",
            modelled.union(texts).subtracting(excepted).subtracting(notReached).subtracting(compared.keys))
            + list("not prepared by any service", modelled.subtracting(prepared))
            + list("neither modelled nor listed", prepared.subtracting(modelled).subtracting(notSimulated))
            + list("listed without need", notSimulated.subtracting(prepared).union(notSimulated.intersection(modelled)))
            + list("excepted without being modelled", excepted.subtracting(modelled).subtracting(texts))
    }

    private func list(_ what: String, _ names: Set<String>) -> [String] { names.sorted().map { "\($0): \(what)" } }

    var summary: String {
        let rows = compared.values.reduce(0) { $0 + $1.times }
        let withoutRows = compared.filter { $0.value.withRows == 0 }.keys.sorted()
        return """
            \(rows) results of \(compared.count) statements compared with PostgreSQL's; always without rows: \
            \(withoutRows.joined(separator: ", "))
            """
    }
}
