import Bytes
import Models
import Testing
import Wire

@testable import Fanout

private let alice = UserID("alice")!
private let bob = UserID("bob")!

private func updates(_ refresh: inout CountsRefresh, _ counts: [(UserID, String)]) throws -> [UserID: String] {
    var buffer = ByteBuffer()
    SenderCounts.writeHead(version: 1, at: Timestamp(milliseconds: 0), to: &buffer)
    for (sender, json) in counts { SenderCounts.writeEntry(sender, to: &buffer) { $0.append(utf8: json) } }
    var reader = ByteReader(buffer.bytes)
    return try refresh.updates(in: SenderCounts(from: &reader)).mapValues { String(decoding: $0, as: UTF8.self) }
}

@Suite struct CountsRefreshTests {
    @Test("the first movement is queried at once, later ones together after the interval")
    func pace() {
        var refresh = CountsRefresh()
        let asks = [
            refresh.moved(), refresh.moved(), refresh.moved(), refresh.rested(), refresh.rested(), refresh.moved(),
        ]
        #expect(asks == [true, false, false, true, false, true])
    }

    @Test("what takes long to count is counted less often")
    func rests() {
        #expect(CountsRefresh.rest(after: .milliseconds(2)) == .seconds(1))
        #expect(CountsRefresh.rest(after: .milliseconds(200)) == .seconds(4))
        #expect(CountsRefresh.rest(after: .seconds(20)) == .seconds(30))
    }

    @Test("a failed query is repeated, even if nothing moved meanwhile")
    func failure() {
        var refresh = CountsRefresh()
        _ = refresh.moved()
        refresh.failed()
        let asksAgain = refresh.rested()
        #expect(asksAgain)
    }

    @Test("each sender gets the counts that changed, and all counts after they may have missed some")
    func changes() throws {
        var refresh = CountsRefresh()
        #expect(try updates(&refresh, [(alice, "[1]"), (bob, "[2]")]) == [alice: "[1]", bob: "[2]"])
        #expect(try updates(&refresh, [(alice, "[1]"), (bob, "[3]")]) == [bob: "[3]"])
        refresh.forget(alice)
        #expect(try updates(&refresh, [(alice, "[1]"), (bob, "[3]")]) == [alice: "[1]"])
    }
}
