import CPQ
import Testing

@testable import Postgres

@Suite struct BatchProgressTests {
    private let lost = DatabaseError(.connectionFailure, "lost")
    private let shutdown = DatabaseError(SQLState(rawValue: "57P01"), "terminated", isFatal: true)
    private let duplicate = DatabaseError(.uniqueViolation, "duplicate")

    private func progress(of statements: Int, returned: Int) -> BatchProgress {
        var progress = BatchProgress(statementCount: statements)
        for _ in 0..<returned { progress.returned(Rows(PQmakeEmptyPGresult(nil, PGRES_TUPLES_OK))) }
        return progress
    }

    @Test("all results and the Sync's answer make a commit")
    func committed() {
        #expect(progress(of: 2, returned: 2).outcome.summary == "committed 2")
    }

    @Test("the first error decides, and its statement is named")
    func failed() {
        var batch = progress(of: 3, returned: 1)
        batch.failed(duplicate)
        batch.failed(lost)
        #expect(batch.outcome.summary == "failed 23505 at 1")
    }

    @Test("an error after the last result is the commit's", arguments: [0, 1, 2])
    func failedCommit(statements: Int) {
        var batch = progress(of: statements, returned: statements)
        batch.failed(duplicate)
        #expect(batch.outcome.summary == "failed 23505")
    }

    @Test("an operator's shutdown leaves no doubt during a statement, and leaves one at the commit")
    func shutDown() {
        var working = progress(of: 2, returned: 1)
        working.failed(shutdown)
        #expect(working.outcome(ofLoss: lost, isUnreached: false).summary == "failed 57P01 at 1")
        var committing = progress(of: 2, returned: 2)
        committing.failed(shutdown)
        #expect(committing.outcome(ofLoss: lost, isUnreached: false).summary == "unknown 57P01")
    }

    @Test(
        "a connection lost before the Sync's answer leaves a doubt, whatever results have come", arguments: [0, 1, 2])
    func lossInFlight(returned: Int) {
        let batch = progress(of: 2, returned: returned)
        #expect(batch.outcome(ofLoss: lost, isUnreached: false).summary == "unknown 08006")
    }

    @Test("a batch that the server cannot have seen whole is certainly not committed")
    func lossBeforeSync() {
        #expect(progress(of: 2, returned: 0).outcome(ofLoss: lost, isUnreached: true).summary == "failed 08006")
    }

    @Test("a cancelled wait for a standby leaves a doubt, though success is reported")
    func cancelledWait() {
        var batch = progress(of: 1, returned: 1)
        batch.commitWaitWasCancelled()
        #expect(batch.outcome.summary == "unknown 01000")
    }
}

extension BatchOutcome {
    fileprivate var summary: String {
        switch self {
        case .committed(let rows): "committed \(rows.count)"
        case .failed(let error, let statement?): "failed \(error.sqlState.rawValue) at \(statement)"
        case .failed(let error, nil): "failed \(error.sqlState.rawValue)"
        case .unknown(let error): "unknown \(error.sqlState.rawValue)"
        }
    }
}
