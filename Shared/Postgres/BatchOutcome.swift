/// The outcome of a batch. A batch is one transaction, so there is nothing between the three.
public enum BatchOutcome: Sendable {
    /// Committed. One `Rows` per statement, in order.
    case committed([Rows])
    /// Certainly rolled back, or never begun. `statement` is the index of the failed one. It is nil when the commit
    /// itself was refused (deferred constraints, serialisation) or the connection was lost before the batch was sent.
    case failed(DatabaseError, statement: Int?)
    /// Perhaps committed, perhaps not: the connection ended, or the wait for a standby was cancelled, after the commit
    /// was requested. It must be looked up before anything is reported.
    case unknown(DatabaseError)
}

/// The known state of a batch in flight: results of libpq in, the outcome out. Pure, so that every failure is tested
/// without a server.
struct BatchProgress {
    let statementCount: Int
    /// The statements before the caller's whose results are yet to come.
    private var openingCount: Int
    var isOpening: Bool { openingCount > 0 }
    private var rows: [Rows] = []
    private var failure: (error: DatabaseError, statement: Int?)?
    private var doubt: DatabaseError?

    /// - Parameter openingCount: the number of statements before the caller's, whose rows are not returned.
    init(statementCount: Int, openingCount: Int = 0) {
        self.statementCount = statementCount
        self.openingCount = openingCount
    }

    mutating func returned(_ result: Rows) {
        if openingCount > 0 { openingCount -= 1 } else { rows.append(result) }
    }

    mutating func failed(_ error: DatabaseError) {
        guard failure == nil, doubt == nil else { return }
        let isAtCommit = openingCount == 0 && rows.count == statementCount
        // Class 57 is an operator's intervention. After the last statement it may strike when the commit is done and
        // only its confirmation is missing.
        if isAtCommit && error.sqlState.category == "57" {
            doubt = error
        } else {
            failure = (error, isAtCommit ? nil : rows.count)
        }
    }

    /// Notes that the server stopped waiting for a standby. The commit stands on the primary, and may be missing on the
    /// standby.
    mutating func commitWaitWasCancelled() {
        doubt = doubt ?? DatabaseError(SQLState(rawValue: "01000"), "the wait for a standby was cancelled")
    }

    /// The outcome once the Sync's response has arrived.
    var outcome: BatchOutcome {
        if let doubt { return .unknown(doubt) }
        if let failure { return .failed(failure.error, statement: failure.statement) }
        return .committed(rows)
    }

    /// The outcome if the connection ended first. `isUnreached`: the server cannot have seen the Sync.
    func outcome(ofLoss error: DatabaseError, isUnreached: Bool) -> BatchOutcome {
        if case .failed = outcome { return outcome }
        if doubt != nil { return outcome }
        return isUnreached ? .failed(error, statement: nil) : .unknown(error)
    }
}
