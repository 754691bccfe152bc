/// A command of `parley` that is a separate program.
package struct CommandProgram: Sendable {
    package let name: String
    package let summary: String
    /// The file name. The program is installed next to `parley`.
    package let executable: String

    package static let load = CommandProgram(
        name: "load",
        summary: "Makes load on a system, measures it, and checks that nothing was lost, doubled or out of order.",
        executable: "parley-load")
}
