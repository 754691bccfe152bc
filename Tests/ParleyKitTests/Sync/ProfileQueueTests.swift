import Models
import ParleyStorage
import Testing

@testable import ParleySync

/// Whom to ask for. What happens in a session is in `Tests/ClientScripts/names.json`.
@Suite struct ProfileQueueTests {
    private func users(_ count: Int, named name: (Int) -> String = { "user-\($0)" }) -> [UserID] {
        (0..<count).map { UserID(name($0))! }
    }

    @Test("a request is of a hundred users at most, and of fewer if their ids are long")
    func bounds() {
        var queue = ProfileQueue()
        let many = users(150)
        queue.show(many, at: .zero)
        #expect(queue.next(at: .milliseconds(99)).isEmpty)
        #expect(queue.next(at: .milliseconds(100)) == Array(many[..<100]))
        #expect(queue.next(at: .milliseconds(100)) == Array(many[100...]))
        let long = users(100) { String(repeating: "@", count: 60) + "\($0)" }
        queue.show(long, at: .zero)
        var found: [UserID] = []
        while found.count < long.count {
            let next = queue.next(at: .milliseconds(100))
            guard !next.isEmpty else { break }
            let call = SyncCall.profiles(next, versions: next.map { _ in 123_456 })
            #expect(call.form.path.utf8.count < 6_000)
            found += next
        }
        #expect(found == long)
    }

    @Test("it remembers the thousand who were shown last, and asks for nobody more often than every five seconds")
    func oftenness() {
        var queue = ProfileQueue()
        let many = users(2_000)
        queue.show(many, at: .zero)
        queue.changed(many[0], at: .zero)
        var found: [UserID] = []
        while case let next = queue.next(at: .milliseconds(100)), !next.isEmpty { found += next }
        #expect(found == Array(many[1_000...]))
        for milliseconds in stride(from: 200, to: 5_100, by: 10) {
            queue.changed(many[1_999], at: .milliseconds(milliseconds))
            #expect(queue.next(at: .milliseconds(milliseconds)).isEmpty)
        }
        #expect(queue.next(at: .milliseconds(5_100)) == [many[1_999]])
    }
}
