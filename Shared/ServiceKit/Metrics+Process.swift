import Glibc
import Reactor

extension Metrics {
    /// Registers the metrics that Prometheus' client libraries provide for every process, under the same names.
    public func addProcessMetrics(service: String, instance: Int) {
        gauge(
            "parley_service_info", "The service this process runs.",
            labels: ["service": service, "instance": "\(instance)"]
        ) { 1 }
        gauge("process_resident_memory_bytes", "Resident memory.") { Double(residentBytes()) }
        counter("process_cpu_seconds_total", "User and system CPU time.") { cpuSeconds() }
        let start = Double(time(nil))
        gauge("process_start_time_seconds", "When the process started, since 1970.") { start }
    }
}

private func residentBytes() -> Int {
    // The second field of statm is the resident set in pages (proc(5)).
    guard let fields = readTextFile("/proc/self/statm")?.split(separator: " "), fields.count > 1 else { return 0 }
    return (Int(fields[1]) ?? 0) * Int(sysconf(CInt(_SC_PAGESIZE)))
}

private func cpuSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
