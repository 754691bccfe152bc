/// How a batch ended. A batch is one transaction, so there is nothing between the three.
public enum BatchOutcome: Sendable {
    /// Committed. One `Rows` per statement, in order.
    case committed([Rows])
    /// Certainly rolled back, or never begun. `statement` is the index of the culprit; nil when the commit itself was
    /// refused (deferred constraints, serialisation) or the connection went before the batch was sent.
    case failed(DatabaseError, statement: Int?)
    /// Perhaps committed, perhaps not: the connection ended, or the wait for a standby was cancelled, after the commit
    /// was asked for. Must be looked up before anything is said about it.
    case unknown(DatabaseError)
}

/// What is known so far about a batch on its way: results of libpq in, the outcome out. Pure, so that every way to fail
/// is tested without a server.
struct BatchProgress {
    let statementCount: Int
    private var rows: [Rows] = []
    private var failure: (error: DatabaseError, statement: Int?)?
    private var doubt: DatabaseError?

    init(statementCount: Int) { self.statementCount = statementCount }

    mutating func returned(_ result: Rows) { rows.append(result) }

    mutating func failed(_ error: DatabaseError) {
        guard failure == nil, doubt == nil else { return }
        let isAtCommit = rows.count == statementCount
        // Class 57 is an operator's intervention. After the last statement it may strike when the commit is done and
        // only its confirmation is missing.
        if isAtCommit && error.sqlState.category == "57" {
            doubt = error
        } else {
            failure = (error, isAtCommit ? nil : rows.count)
        }
    }

    /// The server stopped waiting for a standby: the commit stands here, and may be missing there.
    mutating func commitWaitWasCancelled() {
        doubt = doubt ?? DatabaseError(SQLState(rawValue: "01000"), "the wait for a standby was cancelled")
    }

    /// The outcome when the Sync's answer has come.
    var outcome: BatchOutcome {
        if let doubt { return .unknown(doubt) }
        if let failure { return .failed(failure.error, statement: failure.statement) }
        return .committed(rows)
    }

    /// The outcome when the connection ended first. `isUnreached`: the server cannot have seen the Sync.
    func outcome(ofLoss error: DatabaseError, isUnreached: Bool) -> BatchOutcome {
        if case .failed = outcome { return outcome }
        if doubt != nil { return outcome }
        return isUnreached ? .failed(error, statement: nil) : .unknown(error)
    }
}
