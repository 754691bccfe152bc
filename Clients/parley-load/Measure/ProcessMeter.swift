import Reactor

/// Measures what the processes of the system use during the window of a measurement.
@Reactor
final class ProcessMeter {
    struct Usage: Sendable {
        let name: String
        let cpuSeconds: Double
        /// The largest of several samples per second.
        let peakBytes: Int
    }

    let processes: SystemProcesses
    private var before: [String: Double] = [:]
    private var peaks: [String: Int] = [:]
    private var isRunning = false
    private(set) var usage: [Usage] = []

    private static let sampling = Duration.milliseconds(500)

    init(_ processes: SystemProcesses) { self.processes = processes }

    func begin() {
        isRunning = true
        for reading in readAll() { before[reading.name] = reading.cpuSeconds }
        sampleLater()
    }

    func finish() {
        isRunning = false
        usage = readAll().map { reading in
            // A process that was replaced in between started at zero.
            let start = before[reading.name].flatMap { $0 <= reading.cpuSeconds ? $0 : nil } ?? 0
            return Usage(
                name: reading.name, cpuSeconds: reading.cpuSeconds - start, peakBytes: peaks[reading.name] ?? 0)
        }
    }

    private func readAll() -> [SystemProcesses.Reading] {
        let readings = processes.read()
        for reading in readings { peaks[reading.name] = max(peaks[reading.name] ?? 0, reading.residentBytes) }
        return readings
    }

    private func sampleLater() {
        Reactor.after(Self.sampling) { [self] in
            guard isRunning else { return }
            _ = readAll()
            sampleLater()
        }
    }
}
