from clearwell.adapters.cli import main

if __name__ == "__main__":  # the processes of ``serve --workers`` import this module under another name
    main()
