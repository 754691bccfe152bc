import Bus
import Reactor
import SimulationSupport
import TestSupport
import Wire

/// One process, from start to end.
@Reactor
final class Node {
    enum Kind: Int, CaseIterable { case ingest, store, receipt, fanout }

    let kind: Kind
    let number: Int
    let bus: Bus
    let medium: Medium
    private(set) var isAlive = true
    /// Stopped, as by SIGSTOP.
    var pausedUntil: MonotonicTime?
    private unowned let world: World
    private let process: SimulatedProcess
    private var plannedWake: MonotonicTime?

    init(_ kind: Kind, _ number: Int, in world: World, on network: Network) {
        self.kind = kind
        self.number = number
        self.world = world
        process = SimulatedProcess(random: SeededRandom(seed: world.random.next()))
        let instance = Instance(world.random.next())
        let medium = Medium(instance, network)
        self.medium = medium
        var bus: Bus!
        process.turn(at: world.now) { bus = Bus(instance, on: medium) }
        self.bus = bus
        medium.node = self
    }

    func turn(_ body: @escaping @Reactor () -> Void) {
        guard isAlive else { return }
        if let pausedUntil, world.now < pausedUntil {
            return world.at(pausedUntil) { [self] in turn(body) }
        }
        process.turn(at: world.now, body)
        planWake()
    }

    private func planWake() {
        guard let next = process.nextTime, plannedWake.map({ next < $0 }) ?? true else { return }
        plannedWake = next
        world.at(next) { [weak self] in self?.wake() }
    }

    private func wake() {
        guard isAlive, let plannedWake, plannedWake <= world.now else { return }
        self.plannedWake = nil
        turn {}
    }

    /// Kills the process immediately, as SIGKILL does.
    func kill() {
        isAlive = false
        bus.onFrame = { _ in }
        medium.isOpen = false
    }
}
