import Models
import Testing

@testable import Fanout

@Suite struct SessionWindowsTests {
    private let conversation = ConversationID(UUIDBytes("01890000-0000-7000-8000-000000000011")!)

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
