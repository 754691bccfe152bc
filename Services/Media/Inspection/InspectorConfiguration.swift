import CLinux
import Glibc
import ServiceKit

/// How files are looked into: by a process of its own for each, which can do nothing else.
struct InspectorConfiguration: Sendable {
    let executable: String
    let arguments: [String]
    /// Processes at a time.
    let atOnce: Int
    /// What a process may take; it is ended for more.
    let processorTime: Duration
    /// After which a process is ended, whatever it does.
    let deadline: Duration
    /// Of what is made of a file.
    let contentBytes: Int64

    /// Nil without `PARLEY_MEDIA_INSPECTOR`.
    init?(environment: inout Environment, _ limits: UploadLimits) throws(ConfigurationError) {
        let seconds = try environment.integer("PARLEY_MEDIA_INSPECTOR_SECONDS", default: 30, in: 1...600)
        let memory = try environment.integer("PARLEY_MEDIA_INSPECTOR_MEGABYTES", default: 1024, in: 64...65_536)
        let wanted = try environment.integer("PARLEY_MEDIA_INSPECTORS", default: 0, in: 0...1_000)
        atOnce = wanted > 0 ? wanted : max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN)))
        guard let executable = environment.optionalString("PARLEY_MEDIA_INSPECTOR") else { return nil }
        guard access(executable, X_OK) == 0 else {
            throw ConfigurationError("PARLEY_MEDIA_INSPECTOR", "must name an executable: \(executable)")
        }
        self.executable = executable
        arguments = [
            "--megapixels", "\(limits.media.megapixels)", "--seconds", "\(seconds)", "--memory", "\(memory)M",
        ]
        processorTime = .seconds(seconds)
        // It ends itself before, after three times its processor time: others may need the processors meanwhile.
        deadline = .seconds(3 * seconds + 5)
        contentBytes = limits.fileBytes
    }
}
