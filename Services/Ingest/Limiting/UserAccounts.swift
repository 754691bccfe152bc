import Models
import Reactor

/// The accounts of the users that ask. Only who has shown a valid token gets one.
///
/// An account that says no more than a new one is thrown away, so memory is bounded by the users of the last seconds. A
/// hand goes round and looks at two for each that is added: never at all of them at a stretch.
@Reactor
struct UserAccounts {
    private let limit: UserLimit
    private let load: Load
    private var places: [UserID: Int] = [:]
    private var accounts: [UserAccount?] = []
    private var free: [Int] = []
    private var hand = 0

    init(_ limit: UserLimit, _ load: Load) {
        self.limit = limit
        self.load = load
    }

    var count: Int { places.count }

    mutating func account(of user: UserID, at now: MonotonicTime) -> UserAccount {
        if let place = places[user], let account = accounts[place] { return account }
        for _ in 0..<2 { lookAtNext(at: now) }
        let account = UserAccount(user, limit, load, at: now)
        places[user] = place(account)
        return account
    }

    private mutating func place(_ account: UserAccount) -> Int {
        if let place = free.popLast() {
            accounts[place] = account
            return place
        }
        accounts.append(account)
        return accounts.count - 1
    }

    private mutating func lookAtNext(at now: MonotonicTime) {
        guard !accounts.isEmpty else { return }
        hand = (hand + 1) % accounts.count
        // One that a request refers to stays, or its user would have two.
        guard isKnownUniquelyReferenced(&accounts[hand]), let account = accounts[hand], account.isFresh(at: now) else {
            return
        }
        places[account.user] = nil
        accounts[hand] = nil
        free.append(hand)
    }
}
