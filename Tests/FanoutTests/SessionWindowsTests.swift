import Models
import Testing

@testable import Fanout

@Suite struct SessionWindowsTests {
    private let conversation = ConversationID(UUIDBytes("01890000-0000-7000-8000-000000000011")!)

    @Test("what is cut without a change ends there, even with nothing left, and goes on with the next stay")
    func cut() {
        var windows = SessionWindows()
        windows.cut(conversation, through: 4)
        #expect(windows.cover(4, in: conversation) && !windows.cover(5, in: conversation))
        #expect(!windows.isMember(of: conversation))
        windows.open(conversation, at: 8, isMember: false)
        #expect(windows.isMember(of: conversation))
        #expect((Int64(1)...9).filter { windows.cover($0, in: conversation) } == [1, 2, 3, 4, 8, 9])
        windows.cut(conversation, through: 7)
        #expect((Int64(1)...9).filter { windows.cover($0, in: conversation) } == [1, 2, 3, 4])
        var nothing = Stays([Stays.Stay(from: 5, through: nil)])
        nothing.cut(through: 4)
        #expect(nothing.next(after: 0) == nil && nothing.end != nil && !nothing.contains(1))
    }

    @Test("a member from the first change on sees everything, and takes no memory")
    func fromTheBeginning() {
        var windows = SessionWindows()
        windows.open(conversation, at: 1, isMember: false)
        #expect(windows.cover(1, in: conversation))
        windows.set(.unlimited, in: conversation)
        #expect(windows.cover(.max, in: conversation))
    }

    @Test("a member who joins later does not see earlier positions")
    func later() {
        var windows = SessionWindows()
        windows.open(conversation, at: 7, isMember: false)
        #expect(!windows.cover(6, in: conversation))
        #expect(windows.cover(7, in: conversation))
    }

    @Test(
        "a member who rejoins sees both stays and nothing in between, in whatever order these become known",
        arguments: [false, true])
    func back(joiningIsFirst: Bool) {
        var windows = SessionWindows()
        if joiningIsFirst {
            windows.open(conversation, at: 9, isMember: true)
            windows.close(conversation, at: 5)
        } else {
            windows.close(conversation, at: 5)
            windows.open(conversation, at: 9, isMember: false)
        }
        let covered = (Int64(1)...10).filter { windows.cover($0, in: conversation) }
        #expect(covered == [1, 2, 3, 4, 5, 9, 10])
    }

    @Test("stays of one conversation do not affect another")
    func others() {
        var windows = SessionWindows()
        windows.open(conversation, at: 7, isMember: false)
        #expect(windows.cover(1, in: ConversationID(.zero)))
    }
}
