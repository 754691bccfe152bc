import Models
import Reactor
import ServiceKit

/// The share of this process that one user takes.
@Reactor
final class MediaAccount {
    let user: UserID
    private unowned let accounts: MediaAccounts
    fileprivate var bucket: TokenBucket
    fileprivate(set) var streams = 0

    fileprivate init(_ user: UserID, _ accounts: MediaAccounts, at now: MonotonicTime) {
        self.user = user
        self.accounts = accounts
        bucket = TokenBucket(accounts.limits.rate, at: now)
    }

    /// A request that sends or reads bytes, which must `end`.
    func begin() {
        streams += 1
        accounts.streams += 1
    }

    func end() {
        streams -= 1
        accounts.streams -= 1
    }
}

/// The accounts of the users with recent requests.
@Reactor
final class MediaAccounts {
    fileprivate let limits: UploadLimits
    private var accounts: [UserID: MediaAccount] = [:]
    fileprivate(set) var streams = 0

    init(_ limits: UploadLimits) {
        self.limits = limits
        Reactor.every(.seconds(10)) { [weak self] in self?.forget(at: .now) }
    }

    /// Charges a user for a request.
    /// - Parameter streaming: whether it sends or reads bytes.
    func account(of user: UserID, streaming: Bool, at now: MonotonicTime = .now) throws(Problem) -> MediaAccount {
        let account = accounts[user] ?? MediaAccount(user, self, at: now)
        accounts[user] = account
        guard account.bucket.take(1, limits.rate, at: now) else {
            throw Problem(.rateLimited, "more requests per second than a user may make")
        }
        guard streaming else { return account }
        guard account.streams < limits.streamsPerUser else {
            throw Problem(.rateLimited, "more uploads and downloads at a time than a user may have")
        }
        try requireRoom()
        return account
    }

    func requireRoom() throws(Problem) {
        guard streams < limits.streams else {
            throw Problem(.overloaded, "the server has too many uploads and downloads at a time")
        }
    }

    /// A request of no user, which must `end`.
    func begin() { streams += 1 }
    func end() { streams -= 1 }

    private func forget(at now: MonotonicTime) {
        accounts = accounts.filter { $0.value.streams > 0 || !$0.value.bucket.isFull(limits.rate, at: now) }
    }
}
