import CLibFuzzer
import Glibc

/// What `Tests/fuzz` runs: with libFuzzer's options, and the name of a reader in `PARLEY_FUZZ_READER`.
@main
enum Main {
    static func main() {
        if let directory = getenv("PARLEY_FUZZ_EXAMPLES") { return writeExamples(into: String(cString: directory)) }
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        exit(LLVMFuzzerRunDriver(&count, &arguments) { Main.take($0, $1) })
    }

    /// What does not hold ends the process, which libFuzzer notes.
    private static func take(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        let taken = reader.take(UnsafeRawBufferPointer(start: start, count: count))
        precondition(taken != false, "what was taken is not what it seems")
        return 0
    }

    private static let reader: Reader = {
        let name = getenv("PARLEY_FUZZ_READER").map { String(cString: $0) } ?? ""
        guard let reader = Reader.all.first(where: { $0.name == name }) else {
            fatalError("PARLEY_FUZZ_READER must be one of \(Reader.all.map(\.name))")
        }
        return reader
    }()

    /// A folder for each reader.
    private static func writeExamples(into directory: String) {
        for reader in Reader.all {
            let folder = "\(directory)/\(reader.name)"
            mkdir(folder, 0o755)
            for (number, example) in reader.examples.enumerated() { write(example, to: "\(folder)/example-\(number)") }
        }
    }

    private static func write(_ bytes: [UInt8], to path: String) {
        guard let file = fopen(path, "w") else { fatalError("\(path) cannot be written") }
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }
}
