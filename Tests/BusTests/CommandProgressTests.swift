import Models
import Reactor
import Testing
import Wire

@testable import Bus

@Suite struct CommandProgressTests {
    private let slot = Slot(7)
    private let store = Instance(1)

    private func at(_ milliseconds: UInt64) -> MonotonicTime {
        MonotonicTime(nanoseconds: 5_000_000_000 + milliseconds * 1_000_000)
    }

    /// A store that, at 1,000 ms, has responded to what was published at 500.
    private var busy: CommandProgress {
        var progress = CommandProgress()
        progress.add(from: at(500), to: at(1_000), in: slot, by: store)
        return progress
    }

    private func isWaiting(
        _ progress: CommandProgress, since sent: UInt64, in slot: Slot? = nil, at now: UInt64 = 1_050
    ) -> Bool {
        progress.isWaiting(since: at(sent), in: slot ?? self.slot, heardWithin: .milliseconds(100), at: at(now))
    }

    @Test("what was published behind all that a store has responded to waits its turn")
    func behind() {
        #expect(isWaiting(busy, since: 600))
        #expect(isWaiting(busy, since: 500), "what was published in the same turn may arrive in another order")
    }

    @Test("a command that others have overtaken is lost")
    func overtaken() { #expect(!isWaiting(busy, since: 480)) }

    @Test("a store that falls silent has nothing waiting")
    func silent() { #expect(!isWaiting(busy, since: 600, at: 1_101)) }

    @Test("before the first response nothing is known")
    func beginning() { #expect(!isWaiting(CommandProgress(), since: 600)) }

    @Test("a slot without a response is taken to be of the store that responded last")
    func unknownSlot() { #expect(isWaiting(busy, since: 600, in: Slot(8))) }

    @Test("stores are told apart: what one has responded to tells nothing of another's queue")
    func otherStore() {
        var progress = busy
        progress.add(from: at(990), to: at(1_040), in: Slot(8), by: Instance(2))
        #expect(isWaiting(progress, since: 600))
        #expect(!isWaiting(progress, since: 600, in: Slot(8)))
    }

    @Test("an early response that comes late takes nothing back")
    func disorder() {
        var progress = busy
        progress.add(from: at(400), to: at(1_010), in: slot, by: store)
        #expect(!isWaiting(progress, since: 480))
    }
}
