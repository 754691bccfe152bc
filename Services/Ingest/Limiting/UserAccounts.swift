import Models
import Reactor

/// The accounts of the users with recent requests. Only an authenticated user gets one.
///
/// Accounts in the state of a new one are evicted, so memory is bounded by the users of the last seconds. A clock hand
/// examines two accounts for each one added, never all at once.
@Reactor
struct UserAccounts {
    private let limit: UserLimit
    private let load: Load
    private var indices: [UserID: Int] = [:]
    private var accounts: [UserAccount?] = []
    private var free: [Int] = []
    private var hand = 0

    init(_ limit: UserLimit, _ load: Load) {
        self.limit = limit
        self.load = load
    }

    var count: Int { indices.count }

    mutating func account(of user: UserID, at now: MonotonicTime) -> UserAccount {
        if let index = indices[user], let account = accounts[index] { return account }
        for _ in 0..<2 { evictNext(at: now) }
        let account = UserAccount(user, limit, load, at: now)
        indices[user] = insert(account)
        return account
    }

    private mutating func insert(_ account: UserAccount) -> Int {
        if let index = free.popLast() {
            accounts[index] = account
            return index
        }
        accounts.append(account)
        return accounts.count - 1
    }

    private mutating func evictNext(at now: MonotonicTime) {
        guard !accounts.isEmpty else { return }
        hand = (hand + 1) % accounts.count
        // An account that a request refers to stays, or its user would get a second one.
        guard isKnownUniquelyReferenced(&accounts[hand]), let account = accounts[hand], account.isFresh(at: now) else {
            return
        }
        indices[account.user] = nil
        accounts[hand] = nil
        free.append(hand)
    }
}
