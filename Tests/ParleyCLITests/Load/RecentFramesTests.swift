import Models
import Reactor
import TestSupport
import Testing

@testable import ParleyLoad

@Suite struct RecentFramesTests {
    init() { ReactorThread.start() }

    private func change(_ seq: Int64) -> ArrivedChange {
        ArrivedChange(conversation: ConversationID(UUIDBytes(hashOf: "room")), seq: seq)
    }

    @Reactor private func known(_ frames: RecentFrames, _ seq: Int64, _ frame: String) -> Bool {
        Array(frame.utf8).withUnsafeBytes { frames.change(at: seq, $0) } == change(seq)
    }

    @Reactor private func remember(_ frames: RecentFrames, _ seq: Int64, _ frame: String) {
        Array(frame.utf8).withUnsafeBytes { frames.remember(change(seq), $0) }
    }

    @Test("only the very bytes that another member got at the same position are known")
    @Reactor func sameBytes() {
        let frames = RecentFrames(members: 3)
        remember(frames, 7, "abc")
        #expect(known(frames, 7, "abc"))
        #expect(!known(frames, 7, "abd"))
        #expect(!known(frames, 7, "ab"))
        #expect(!known(frames, 8, "abc"))
    }

    @Test("old frames make place for new ones, and what is too long is not kept")
    @Reactor func bounds() {
        let frames = RecentFrames(members: 3)
        remember(frames, 1, "old")
        remember(frames, 257, "new")
        #expect(!known(frames, 1, "old"))
        #expect(known(frames, 257, "new"))
        remember(frames, 1, "late")
        #expect(known(frames, 257, "new"))
        let long = String(repeating: "x", count: 2000)
        remember(frames, 300, long)
        #expect(!known(frames, 300, long))
    }

    @Test("an acknowledgement is known from when it came")
    @Reactor func acknowledgements() {
        let frames = RecentFrames(members: 100)
        #expect(frames.acknowledgement(of: 5) == nil)
        frames.acknowledge(5, at: MonotonicTime(nanoseconds: 9))
        #expect(frames.acknowledgement(of: 5)?.nanoseconds == 9)
        #expect(frames.acknowledgement(of: 6) == nil)
    }
}
