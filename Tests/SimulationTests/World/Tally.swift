import Models
import Reactor

/// Counts of events over some runs. A simulation in which nothing happens finds nothing.
@Reactor
final class Tally {
    private var done = 0
    private var refused = 0
    private var changes = 0
    private var doubled = 0
    private var reloads = 0

    func count(_ system: System) {
        let responses = system.promises.done
        refused += responses.count(where: \.isRefused)
        done += responses.count { !$0.isRefused }
        changes += system.database.tables.conversations.values.reduce(0) { $0 + $1.entries.count }
        doubled += system.database.locks.doubled
        reloads += system.privateReloads
    }

    var summary: String {
        """
        \(done) requests were carried out and \(refused) refused, \(changes) changes told, \(reloads) private streams \
        reloaded, \(doubled) slots had two owners
        """
    }
}
