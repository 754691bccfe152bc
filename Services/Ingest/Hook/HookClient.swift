import CCurl
import Curl
import Glibc
import Models
import Reactor
import ServiceKit
import Synchronization

/// A question on its way to the application.
struct HookPost: Sendable {
    let id: String
    let body: [UInt8]
    let deadline: MonotonicTime
    let done: @Reactor @Sendable (Result<HookResponse, HookFailure>) -> Void
}

struct HookResponse: Sendable {
    var status: Int
    var body: [UInt8]
}

/// Takes questions to the application: `HookClient`, or what tests put in its place.
protocol HookTransport: AnyObject, Sendable {
    /// Calls `done` once, sooner or later.
    @Reactor func post(_ post: HookPost)
}

/// Signs and posts questions on a thread of its own, by libcurl: looking up names, the handshake of TLS and reading the authorities
/// take longer than the reactor has.
///
/// Its queue is bounded by `HookQueue.Limits.requests`: a place is given back when a question is done.
final class HookClient: HookTransport, @unchecked Sendable {
    // @unchecked: `waiting` is synchronised, and all else is used by the thread alone.
    private final class Transfer {
        let handle: CurlHandle
        let post: HookPost
        var headers: UnsafeMutablePointer<curl_slist>?
        var body: [UInt8] = []
        var isTooLarge = false

        init(_ handle: CurlHandle, _ post: HookPost) {
            self.handle = handle
            self.post = post
        }
    }

    private let url: String
    private let secrets: [HookSecret]
    private let authorities: String?
    private let waiting = Mutex<[HookPost]>([])
    private let multi: UnsafeMutableRawPointer
    private var idle: [CurlHandle] = []
    private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]

    /// Its thread lives as long as the process.
    init(_ configuration: HookConfiguration, connections: Int) {
        url = configuration.url
        secrets = configuration.secrets
        authorities = configuration.authorities
        // Also starts libcurl, before there is a thread.
        idle.append(CurlHandle())
        guard let multi = curl_multi_init() else { preconditionFailure("libcurl could not allocate a handle") }
        self.multi = multi
        parley_curl_multi_set_number(multi, CURLMOPT_MAXCONNECTS, connections)
        startThread()
    }

    @Reactor func post(_ post: HookPost) {
        waiting.withLock { $0.append(post) }
        curl_multi_wakeup(multi)
    }

    private func startThread() {
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { client in
                // Blocked here, because the reactor receives the process's signals (signalfd).
                var all = sigset_t()
                sigfillset(&all)
                pthread_sigmask(SIG_SETMASK, &all, nil)
                Unmanaged<HookClient>.fromOpaque(client!).takeUnretainedValue().work()
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
        precondition(result == 0, "a thread could not be started")
        pthread_detach(thread)
    }

    // MARK: On the thread

    private func work() {
        while true {
            let posts = waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            for post in posts { begin(post) }
            var running: CInt = 0, ready: CInt = 0
            curl_multi_perform(multi, &running)
            takeResults()
            curl_multi_poll(multi, nil, 0, 60_000, &ready)
        }
    }

    private func begin(_ post: HookPost) {
        let milliseconds = Int((post.deadline - .now).milliseconds)
        guard milliseconds > 0 else { return finish(post, .failure(.timeout)) }
        let transfer = Transfer(idle.popLast() ?? CurlHandle(), post)
        set(transfer, milliseconds)
        transfers[transfer.handle.curl] = transfer
        let result = curl_multi_add_handle(multi, transfer.handle.curl)
        precondition(result == CURLM_OK, "libcurl takes a new handle")
    }

    private func set(_ transfer: Transfer, _ milliseconds: Int) {
        transfer.handle.begin(authorities: authorities)
        let curl = transfer.handle.curl
        parley_curl_set_text(curl, CURLOPT_URL, url)
        parley_curl_set_number(curl, CURLOPT_TIMEOUT_MS, milliseconds)
        parley_curl_set_number(curl, CURLOPT_CONNECTTIMEOUT_MS, milliseconds)
        // A connection for each question, of which HTTP/1.1 keeps some open.
        parley_curl_set_number(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        parley_curl_set_number(curl, CURLOPT_FOLLOWLOCATION, 0)
        parley_curl_set_number(curl, CURLOPT_POST, 1)
        parley_curl_set_size(curl, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(transfer.post.body.count))
        transfer.post.body.withUnsafeBytes {
            parley_curl_set_pointer(curl, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: $0.baseAddress))
        }
        // Without the wait for permission that libcurl has before a large body.
        let lines = ["Content-Type: application/json", "User-Agent: Parley", "Expect:"] + signature(of: transfer.post)
        transfer.headers = lines.reduce(nil) { curl_slist_append($0, $1) }
        parley_curl_set_pointer(curl, CURLOPT_HTTPHEADER, transfer.headers)
        parley_curl_set_pointer(curl, CURLOPT_WRITEDATA, Unmanaged.passUnretained(transfer).toOpaque())
        parley_curl_set_bytes(curl, CURLOPT_WRITEFUNCTION) { bytes, size, count, transfer in
            HookClient.receive(bytes, size * count, Unmanaged<Transfer>.fromOpaque(transfer!).takeUnretainedValue())
        }
    }

    /// It takes 10 ms for the largest batch, which the reactor has not.
    private func signature(of post: HookPost) -> [String] {
        HookSignature.headers(id: post.id, seconds: Timestamp.now.milliseconds / 1000, body: post.body, secrets)
    }

    /// - Returns: how much was taken; anything but `count` ends the request.
    private static func receive(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ transfer: Transfer) -> Int {
        guard transfer.body.count + count <= HookAnswer.mostBytes else {
            transfer.isTooLarge = true
            return 0
        }
        transfer.body += UnsafeRawBufferPointer(start: bytes, count: count)
        return count
    }

    private func takeResults() {
        var left: CInt = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let curl = message.pointee.easy_handle else { continue }
            let result = message.pointee.data.result
            guard let transfer = transfers.removeValue(forKey: curl) else { preconditionFailure("it was begun") }
            finish(transfer.post, outcome(of: transfer, result))
            curl_multi_remove_handle(multi, curl)
            curl_slist_free_all(transfer.headers)
            idle.append(transfer.handle)
        }
    }

    private func outcome(of transfer: Transfer, _ result: CURLcode) -> Result<HookResponse, HookFailure> {
        switch result {
        case CURLE_OK: .success(HookResponse(status: transfer.handle.status, body: transfer.body))
        case CURLE_OPERATION_TIMEDOUT: .failure(.timeout)
        case _ where transfer.isTooLarge: .failure(.answer)
        default: .failure(.unreachable)
        }
    }

    private func finish(_ post: HookPost, _ result: Result<HookResponse, HookFailure>) {
        Reactor.spawn { post.done(result) }
    }
}
