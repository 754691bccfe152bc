import Models

/// How far each user has received and read. Receipts only move forward: one that an earlier one covers says nothing.
struct ChatReceipts {
    /// Where a message stands: by its date, then by its row.
    struct Place: Comparable {
        let nanoseconds: Int64
        let row: Int64

        static func < (left: Place, right: Place) -> Bool {
            (left.nanoseconds, left.row) < (right.nanoseconds, right.row)
        }
    }

    private var delivered: [UserID: Place] = [:]
    private var read: [UserID: Place] = [:]

    /// Returns whether the receipt moves the user forward. Who has read has received.
    mutating func move(_ user: UserID, _ kind: ImportRecord.Receipt.Kind, to place: Place) -> Bool {
        switch kind {
        case .delivered:
            guard delivered[user].map({ $0 < place }) ?? true else { return false }
        case .read:
            guard read[user].map({ $0 < place }) ?? true else { return false }
            read[user] = place
        }
        delivered[user] = max(delivered[user] ?? place, place)
        return true
    }

    func hasRead(_ user: UserID, _ place: Place) -> Bool { read[user].map { $0 >= place } ?? false }
}
