import Models
import Reactor
import Testing
import Wire

@testable import ServiceKit

@Suite struct SuspendedUsersTests {
    private let anna = UserID("anna")!

    private let start = MonotonicTime(nanoseconds: 0)

    private func moment(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: seconds * 1000) }

    private func token(isAdministrator: Bool = false) -> Identity {
        Identity(user: anna, isAdministrator: isAdministrator, expiresAt: moment(1_000_000))
    }

    @Test("what holds is the suspension with the highest number, in whatever order they come")
    func order() {
        let all = [
            HeldSuspension(number: 1, anna, .out), HeldSuspension(number: 2, anna, nil, until: moment(20)),
            HeldSuspension(number: 3, anna, .readOnly, until: moment(90)),
        ]
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1, 2]] {
            var users = SuspendedUsers()
            for index in order { _ = users.insert(all[index], at: moment(30), start) }
            let held = users.suspension(of: token(), at: moment(30))
            #expect(held?.mode == .readOnly && held?.until == moment(90) && held?.retryAfter == 60)
            #expect(users.suspension(of: token(), at: moment(90)) == nil)
        }
    }

    @Test("one that was lifted holds nobody up, also when the clock here is behind that of the store")
    func lifted() {
        var users = SuspendedUsers()
        var news = [users.insert(HeldSuspension(number: 1, anna, .out), at: moment(30), start)]
        #expect(users.suspension(of: token(), at: moment(30))?.retryAfter == 3_600)
        #expect(users.suspension(of: token(isAdministrator: true), at: moment(30)) == nil)
        news.append(users.insert(HeldSuspension(number: 2, anna, nil, until: moment(40)), at: moment(30), start))
        #expect(users.suspension(of: token(), at: moment(30)) == nil)
        news.append(users.insert(HeldSuspension(number: 1, anna, .out), at: moment(30), start))
        #expect(news == [true, true, false])
        #expect(users.suspension(of: token(), at: moment(30)) == nil)
    }

    @Test("what is over is forgotten later than anything older may come, and what is in force is not")
    func forgetting() {
        var users = SuspendedUsers()
        _ = users.insert(HeldSuspension(number: 1, anna, .out, until: moment(100)), at: moment(30), start)
        _ = users.insert(HeldSuspension(number: 1, UserID("ben")!, .out), at: moment(30), start)
        // Seventy seconds to its end, and ten minutes more.
        users.forget(at: start + .seconds(669))
        #expect(users.count == 2)
        users.forget(at: start + .seconds(671))
        #expect(users.count == 1)
    }
}
