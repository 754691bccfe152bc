import Models
import Wire

/// The arrangement of receipts in the parameters of `import_receipts.sql`: by user, each user's in their order.
struct ReceiptLayout {
    private(set) var users: [UserID] = []
    /// How many receipts there are up to the last one of each user.
    private(set) var ends: [Int] = []
    /// The index into `users` of each receipt, in this arrangement.
    private(set) var userPlaces: [Int] = []
    /// The indices of the receipts as they came.
    private(set) var order: [Int] = []

    init(_ receipts: [ImportReceipt]) {
        var places: [UserID: Int] = [:]
        var indices: [[Int]] = []
        for (index, receipt) in receipts.enumerated() {
            if let place = places[receipt.user] {
                indices[place].append(index)
            } else {
                places[receipt.user] = users.count
                users.append(receipt.user)
                indices.append([index])
            }
        }
        for (place, ofUser) in indices.enumerated() {
            order += ofUser
            userPlaces += Array(repeating: place, count: ofUser.count)
            ends.append(order.count)
        }
    }

    /// Returns what belongs to each receipt as they came, given it in this arrangement.
    func inOriginalOrder<Element>(_ elements: [Element]) -> [Element] {
        zip(order, elements).sorted { $0.0 < $1.0 }.map(\.1)
    }
}
