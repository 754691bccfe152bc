import Models

/// The next messages of a conversation whose dates will be kept, up to the first one that still waits for a member.
///
/// Pure. A message is complete when all its recipients have reached it; its date is when the last of them did. A
/// message that only former members lack is passed without a date. If they come back and read it, the date is computed
/// on request.
struct CompletionPage {
    struct Message {
        let seq: Int64
        let sender: UserID
    }

    /// A member who has not reached all messages of the page. They lack those after `reached`, up to the end of the
    /// stay.
    struct Laggard {
        let user: UserID
        let reached: Int64
        /// Nil for a present member.
        let leftSeq: Int64?
    }

    /// Messages with one date. Nil: they have none.
    struct Range: Equatable {
        var from: Int64
        var to: Int64
        var at: Timestamp?
    }

    /// The messages that wait for no present member.
    let passed: [Message]
    /// The passed messages that all recipients have, ascending.
    let complete: [Message]

    /// - Parameters:
    ///   - present: the member who is farthest behind, and the next one; all other present members lag less.
    ///   - former: all of them.
    init(_ messages: [Message], present: [Laggard], former: [Laggard]) {
        passed = Array(
            messages.prefix { message in
                present.first { $0.user != message.sender }.map { message.seq <= $0.reached } ?? true
            })
        complete = passed.filter { message in
            !former.contains { laggard in
                laggard.user != message.sender && message.seq > laggard.reached && message.seq <= laggard.leftSeq!
            }
        }
    }

    /// - Parameter times: when each position of `complete` was last passed, by each sender of the page separately, or
    ///   by the others.
    func ranges(_ times: [(first: Int, end: Int, sender: UserID?, at: Timestamp)]) -> [Range] {
        var dates: [Int64: Timestamp] = [:]
        for time in times {
            for message in complete[time.first..<time.end] where message.sender != time.sender {
                dates[message.seq] = max(dates[message.seq] ?? time.at, time.at)
            }
        }
        return passed.reduce(into: []) { ranges, message in
            let date = dates[message.seq]
            if let last = ranges.last, last.at == date {
                ranges[ranges.count - 1].to = message.seq
            } else {
                ranges.append(Range(from: message.seq, to: message.seq, at: date))
            }
        }
    }
}
