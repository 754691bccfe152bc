import Glibc
import Postgres
import Reactor

/// Measures `receipt`: members of many groups read on, by so many signals in flight or a second.
///
///     PARLEY_DATABASE_URL=… swift run -c release SignalLoad RUN [conversations] [members of each] [in flight] \
///         [seconds] [messages passed by each reading] [signals a second; 0: as many as are absorbed]
///
/// RUN is the directory `run` of a system of deploy/dev: it joins the bus there as another `fanout` and measures the
/// processes whose ids lie there. The conversations are written into the tables of `store` directly, under ids of their
/// own; they stay. `Tests/Load/receipts` runs it for groups of several sizes.
@main
enum Main {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 1, let url = getenv("PARLEY_DATABASE_URL") else {
            return print("see the top of Tests/Load/SignalLoad/Main.swift")
        }
        let given = arguments.dropFirst(2).compactMap { Int($0) }
        let numbers = given + [1000, 10, 1000, 5, 1, 0].dropFirst(given.count)
        let plan = SignalPlan(
            run: arguments[1], conversations: numbers[0], members: numbers[1], inFlight: numbers[2],
            duration: .seconds(numbers[3]), step: numbers[4], rate: numbers[5])
        let database = try BlockingConnection(url: String(cString: url), applicationName: "signal-load")
        try plan.seed(database)
        Reactor.spawn {
            do {
                let load = try SignalLoad(plan, ReceiptTables(database))
                try await load.run()
                try print(load.report())
            } catch {
                print("failed: \(error)")
                exit(1)
            }
            exit(0)
        }
        Reactor.run()
    }
}
