# Creates the demo users' conversation through the public API. Sourced, never run.
# shellcheck shell=bash disable=SC2154

demo_users=(alice bob carol)
demo_conversation=01900000-0000-7000-8000-00000000cafe

token_of() { "$executables/parley" token --user "$1" --secret-file "$secret_file" 9>&-; } # USER

# A repeated creation responds 200, so this may run at every start.
create_demo() {
    local response
    ((instances[ingest] && instances[store])) || return 0
    response=$(curl --silent --show-error --max-time 10 --write-out '\n%{http_code}' \
        --header "Authorization: Bearer $(token_of alice)" --header 'Content-Type: application/json' \
        --data '{"id":"'$demo_conversation'","kind":"group","title":"Demo","members":["bob","carol"]}' \
        "http://$(address_of ingest 0)/v1/conversations") || die "the demo conversation could not be created: see $logs."
    [[ ${response##*$'\n'} == 20[01] ]] || die "creating the demo conversation was refused:" "$response"
    say demo "alice, bob and carol in the conversation $demo_conversation"
}

print_introduction() {
    local http ws user
    http=http://$(address_of ingest 0)
    ws=$(fanout_url)
    printf '\nHTTP       %s      its description: %s/openapi.json\nWebSocket  %s\nLogs       %s\n\n' \
        "$http" "$http" "$ws" "$logs"
    print_links
    for user in "${demo_users[@]}"; do printf 'Token of %-6s %s\n' "$user" "$(token_of "$user")"; done
    print_examples "$http" "$ws" "$(token_of alice)"
}

# The page, signed in. A browser keeps one user for each origin, so the users get different names of this machine: both
# links can be open side by side.
print_links() {
    local user hosts=("$host" "$host") number=0
    page_port=${page_port:-$(port_of ingest 0)}
    responds "$page_port" || return 0
    [[ $host != 127.0.0.1 ]] || hosts=(localhost 127.0.0.1)
    echo "Open in a browser, side by side:"
    for user in alice bob; do
        printf '  %-6s http://%s:%s/#token=%s\n' "$user" "${hosts[number++]}" "$page_port" "$(token_of "$user")"
    done
    echo
}

# Whether there is a page: PARLEY_WEB may be 0, or the executable have none.
responds() { # PORT
    curl --silent --fail --max-time 5 --output /dev/null "http://$host:$1/"
}

print_examples() { # HTTP WS TOKEN
    local authorization="-H 'Authorization: Bearer $3'" messages=$1/v1/conversations/$demo_conversation/messages
    cat <<-END

	Send a message as alice:
	curl -sS $authorization -H 'Content-Type: application/json' -d '{"id":"'\$(cat /proc/sys/kernel/random/uuid)'","text":"Hello"}' $messages

	Read the history:
	curl -sS $authorization $messages

	List alice's conversations:
	curl -sS $authorization $1/v1/conversations

	Write to each other, in two more terminals:
	$executables/parley chat --user alice --http $1 --ws $2 --secret-file $secret_file
	$executables/parley chat --user bob --http $1 --ws $2 --secret-file $secret_file

	Watch what bob sees, live:
	$executables/parley tail --user bob --receipts --http $1 --ws $2 --secret-file $secret_file

	END
}
